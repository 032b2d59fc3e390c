package notify_test

import (
	"testing"

	"scv/daemon/notify"
)

// A word about an account goes through another one: by the usual choice, and rather anywhere than nowhere, but
// into the local chat only where an owner is expected to look there.
func TestElsewhere(t *testing.T) {
	const second = "feishu:second"
	for name, test := range map[string]struct {
		facts notify.Facts
		about string
		want  string // "" for nowhere
	}{
		"never through itself":         {notify.Facts{Accounts: []notify.Account{account(feishu)}}, feishu, ""},
		"nor by the list":              {notify.Facts{Accounts: []notify.Account{account(feishu), account(wechat)}, Order: []string{feishu}}, feishu, wechat},
		"by the list":                  {notify.Facts{Accounts: []notify.Account{account(feishu), account(second), account(wechat)}, Order: []string{wechat}}, feishu, wechat},
		"where the owner wrote last":   {notify.Facts{Accounts: []notify.Account{account(feishu), account(second), account(wechat)}, Last: notify.LastOwner{Account: wechat}}, feishu, wechat},
		"any of several":               {notify.Facts{Accounts: []notify.Account{account(feishu), account(second), account(wechat)}}, feishu, second},
		"the local chat if alone":      {notify.Facts{Accounts: []notify.Account{account(local), account(feishu, offline)}}, feishu, local},
		"about the local chat":         {notify.Facts{Accounts: []notify.Account{account(local), account(feishu)}}, local, feishu},
		"not where perhaps nobody is":  {notify.Facts{Accounts: []notify.Account{account(local), account(feishu, offline), account(wechat, offline)}}, feishu, ""},
		"an origin does not matter":    {notify.Facts{Accounts: []notify.Account{account(feishu), account(wechat)}, Origin: notify.OriginChat{Account: feishu}}, feishu, wechat},
		"no account without its owner": {notify.Facts{Accounts: []notify.Account{account(feishu), account(wechat, nobody), account(second, noChat)}}, feishu, ""},
	} {
		got, err := notify.Elsewhere(test.facts, test.about)
		if got.Account != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %+v, %v; want %q", name, got, err, test.want)
		}
	}
}
