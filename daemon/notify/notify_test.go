package notify_test

import (
	"errors"
	"strings"
	"testing"

	"scv/daemon/notify"
	"scv/wire"

	"pgregory.net/rapid"
)

func account(id string, with ...func(*notify.Account)) notify.Account {
	a := notify.Account{
		ID: id, OwnerID: "owner of " + id, OwnerChat: "chat of " + id,
		Running: true, Connected: true, Local: strings.HasPrefix(id, "local:"),
	}
	for _, f := range with {
		f(&a)
	}
	return a
}

func offline(a *notify.Account) { a.Connected = false }
func failed(a *notify.Account)  { a.Connected, a.Running = false, false }
func nobody(a *notify.Account)  { a.OwnerID = "" }
func noChat(a *notify.Account)  { a.OwnerChat = "" }

const (
	local  = "local:default"
	wechat = "wechat:default"
	feishu = "feishu:default"
)

func TestPick(t *testing.T) {
	all := []notify.Account{account(feishu), account(local), account(wechat)}
	at := func(id string) notify.OriginChat { return notify.OriginChat{Account: id, OwnersChat: true} }
	cases := []struct {
		name  string
		facts notify.Facts
		want  string // account, "" for a refusal
	}{
		{"the origin before the list", notify.Facts{Origin: at(wechat), Accounts: all, Order: []string{feishu}, Last: notify.LastOwner{Account: feishu}}, wechat},
		{"the local chat as origin, nobody attached", notify.Facts{Origin: at(local), Accounts: all, Order: []string{feishu}}, local},
		{"an origin that is out of reach keeps the question", notify.Facts{Origin: at(wechat), Accounts: []notify.Account{account(wechat, offline), account(feishu)}}, wechat},
		{"a failed origin is refused, not redirected", notify.Facts{Origin: at(wechat), Accounts: []notify.Account{account(wechat, failed), account(feishu)}, Order: []string{feishu}}, ""},
		{"a forgotten origin is refused", notify.Facts{Origin: at("wechat:old"), Accounts: all, Order: []string{feishu}}, ""},
		{"a group or a stranger's chat as origin is refused", notify.Facts{Origin: notify.OriginChat{Account: wechat}, Accounts: all, Order: []string{feishu}}, ""},
		{"an origin without a known owner is refused", notify.Facts{Origin: at(wechat), Accounts: []notify.Account{account(wechat, nobody), account(feishu)}}, ""},

		{"the first of the list", notify.Facts{Accounts: all, Order: []string{wechat, feishu}, Last: notify.LastOwner{Account: feishu}}, wechat},
		{"the first connected of the list", notify.Facts{Accounts: []notify.Account{account(wechat, offline), account(feishu)}, Order: []string{wechat, feishu}}, feishu},
		{"a listed account without an owner is passed over", notify.Facts{Accounts: []notify.Account{account(wechat, nobody), account(feishu)}, Order: []string{wechat, feishu}}, feishu},
		{"the local chat when listed", notify.Facts{Accounts: all, Order: []string{local, feishu}}, local},
		{"with a list nobody else is asked", notify.Facts{Accounts: []notify.Account{account(wechat, offline), account(feishu)}, Order: []string{wechat, "lark:gone"}, Last: notify.LastOwner{Account: feishu}}, ""},

		{"the last owner chat", notify.Facts{Accounts: all, Last: notify.LastOwner{Account: wechat}}, wechat},
		{"a second local account is no other chat", notify.Facts{Accounts: []notify.Account{account(local), account("local:second")}}, local},
		{"nor is it where it was last used by a script", notify.Facts{Accounts: []notify.Account{account(local), account("local:second")}, Last: notify.LastOwner{Account: "local:second"}}, "local:second"},
		{"two local accounts that are not the built-in one are a guess", notify.Facts{Accounts: []notify.Account{account("local:a"), account("local:b")}}, ""},
		{"the local chat, last used at a terminal", notify.Facts{Accounts: all, Last: notify.LastOwner{Account: local, Terminal: true}}, local},
		{"the local chat, last used by a script", notify.Facts{Accounts: []notify.Account{account(local), account(wechat)}, Last: notify.LastOwner{Account: local}}, wechat},
		{"the last owner chat is out of reach: the only other", notify.Facts{Accounts: []notify.Account{account(wechat, offline), account(feishu)}, Last: notify.LastOwner{Account: wechat}}, feishu},

		{"the only connected account", notify.Facts{Accounts: []notify.Account{account(local), account(wechat, offline), account(feishu)}}, feishu},
		{"an account whose chat is not known is none", notify.Facts{Accounts: []notify.Account{account(wechat, noChat), account(feishu)}}, feishu},
		{"two accounts: never a guess", notify.Facts{Accounts: []notify.Account{account(wechat), account(feishu)}}, ""},
		{"the local chat, nothing else exists", notify.Facts{Accounts: []notify.Account{account(local)}}, local},
		{"the local chat, nothing else has an owner", notify.Facts{Accounts: []notify.Account{account(local), account(wechat, nobody)}}, local},
		{"the local chat, last used by a script, nothing else exists", notify.Facts{Accounts: []notify.Account{account(local)}, Last: notify.LastOwner{Account: local}}, local},
		{"not the local chat while the owner's own is out of reach", notify.Facts{Accounts: []notify.Account{account(local), account(wechat, offline)}}, ""},
		{"not the local chat that a script used, while the owner's own is out of reach", notify.Facts{Accounts: []notify.Account{account(local), account(wechat, offline)}, Last: notify.LastOwner{Account: local}}, ""},
		{"the local chat is off", notify.Facts{Accounts: []notify.Account{account(local, offline)}}, ""},
		{"nothing at all", notify.Facts{}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := notify.Pick(c.facts)
			if c.want == "" {
				var refusal *wire.Error
				if !errors.As(err, &refusal) || refusal.Code != wire.ConfirmError || refusal.Text == "" {
					t.Fatalf("got %+v, %v; want a confirm_error", got, err)
				}
				return
			}
			want := notify.Target{Account: c.want, Chat: "chat of " + c.want, Owner: "owner of " + c.want}
			if err != nil || got != want {
				t.Fatalf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// TestPickNeverRedirects: whatever else is there, an origin is asked or nobody is, and nobody is
// asked who is not known as an owner.
func TestPickNeverRedirects(t *testing.T) {
	ids := []string{local, wechat, feishu}
	rapid.Check(t, func(t *rapid.T) {
		var f notify.Facts
		owners := map[string]string{}
		for _, id := range rapid.Permutation(ids).Draw(t, "ids")[:rapid.IntRange(0, 3).Draw(t, "how many")] {
			a := account(id)
			a.Running, a.Connected = rapid.Bool().Draw(t, "running"), rapid.Bool().Draw(t, "connected")
			if rapid.IntRange(0, 3).Draw(t, "owner") == 0 {
				a.OwnerID = ""
			}
			owners[id] = a.OwnerID
			f.Accounts = append(f.Accounts, a)
		}
		f.Origin = notify.OriginChat{Account: rapid.SampledFrom(append(ids, "")).Draw(t, "origin"), OwnersChat: rapid.Bool().Draw(t, "owner's chat")}
		f.Order = rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2).Draw(t, "order")
		f.Last = notify.LastOwner{Account: rapid.SampledFrom(append(ids, "")).Draw(t, "last"), Terminal: rapid.Bool().Draw(t, "terminal")}

		got, err := notify.Pick(f)
		if err != nil {
			if got != (notify.Target{}) {
				t.Fatalf("refused, and yet %+v", got)
			}
			return
		}
		if got.Owner == "" || got.Owner != owners[got.Account] {
			t.Fatalf("%+v is nobody's chat", got)
		}
		if f.Origin.Account != "" && (got.Account != f.Origin.Account || !f.Origin.OwnersChat) {
			t.Fatalf("redirected from %+v to %+v", f.Origin, got)
		}
	})
}
