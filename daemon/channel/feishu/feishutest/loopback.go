package feishutest

import "strings"

// Down cuts every connection, in the middle of whatever it carries, and every new one until Up. What the
// platform knows stays.
func (p *Platform) Down() {
	p.Server.Down()
	p.change(func() { p.sockets = nil })
}

// The brands, and the domain of each.
const (
	Feishu = "feishu"
	Lark   = "lark"
)

var domains = map[string]string{Feishu: "feishu.cn", Lark: "larksuite.com"}

// brandOf is the brand whose host it is, "" for none.
func brandOf(host string) string {
	for brand, domain := range domains {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return brand
		}
	}
	return ""
}
