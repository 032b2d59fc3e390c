package feishu

import (
	"testing"
	"time"

	"scv/daemon/channel/feishu/feishutest"
)

// A token is fetched once and renewed ten minutes before it ends, but never sooner than after a minute.
func TestTokensAreRenewedInTime(t *testing.T) {
	for life, use := range map[time.Duration]time.Duration{
		2 * time.Hour: 2*time.Hour - 10*time.Minute, 5 * time.Minute: time.Minute,
	} {
		p := feishutest.New(t, feishutest.Options{TokenLife: life})
		app := p.App()
		a := newAPI(p.Client(), Public(Brand(app.Brand)), Credentials{AppID: app.ID, AppSecret: app.Secret, Brand: Brand(app.Brand)})
		bearer := func(fetched int) (token string) {
			t.Helper()
			token, err := a.bearer(t.Context())
			if n := len(p.Requests(feishutest.Token)); err != nil || n != fetched {
				t.Errorf("life %v: fetched %d times, not %d: %v", life, n, fetched, err)
			}
			return token
		}
		first := bearer(1)
		if again, left := bearer(1), time.Until(a.until); again != first || left > use || left < use-limit {
			t.Errorf("life %v: it is used for %v", life, left)
		}
		a.until = time.Now()
		bearer(2)
		p.Close()
	}
}
