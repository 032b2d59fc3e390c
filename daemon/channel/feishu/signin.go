package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"scv/daemon/channel"
)

// Bounds of a sign-in, which the platform may set within them.
const (
	signInTime   = 30 * time.Second // of one request
	usualPoll    = 5 * time.Second
	longestPoll  = 60 * time.Second
	slowDown     = 5 * time.Second
	afterFailure = 1 * time.Second
	usualLife    = 600 * time.Second // of a code
	longestLife  = 24 * time.Hour
	maxUserCode  = 64
)

// How a sign-in can end besides credentials.
var (
	ErrDeclined    = errors.New("the sign-in was declined")
	ErrCodeExpired = errors.New("the code was not scanned in time")
)

// SignIn is one try to sign in by a code that somebody scans. The platform makes a new app for it, which is
// theirs.
type SignIn struct {
	Link string        // what the code says
	Life time.Duration // of the code

	base      *http.Client
	platforms func(Brand) Platform
	brand     Brand // whose host is asked now
	switched  bool
	device    string
	poll      time.Duration
	unit      time.Duration // of the platform's intervals; tests have a shorter one
}

// BeginSignIn asks for a code. want chooses only whose page the code leads to: the platform tells by the
// person who scans it which brand they use.
func BeginSignIn(ctx context.Context, base *http.Client, platforms func(Brand) Platform, want Brand) (*SignIn, error) {
	s := &SignIn{base: base, platforms: platforms, brand: Feishu, unit: time.Second} // every flow starts there
	var methods struct {
		Supported []string `json:"supported_auth_methods"`
	}
	if err := s.ask(ctx, url.Values{"action": {"init"}}, &methods); err != nil {
		return nil, err
	}
	if !slices.Contains(methods.Supported, "client_secret") {
		return nil, errors.New("the platform no longer signs in this way: a newer scv may")
	}
	var begun begunAnswer
	err := s.ask(ctx, url.Values{
		"action": {"begin"}, "archetype": {"PersonalAgent"}, "auth_method": {"client_secret"},
		"request_user_info": {"open_id tenant_brand"},
	}, &begun)
	if err != nil {
		return nil, err
	}
	return s, s.begin(begun, want)
}

type begunAnswer struct {
	Device    string `json:"device_code"`
	User      string `json:"user_code"`
	Interval  int64  `json:"interval"`
	ExpiresIn int64  `json:"expires_in"`
	ExpireIn  int64  `json:"expire_in"` // as some call it
}

func (s *SignIn) begin(b begunAnswer, want Brand) error {
	odd := func(r rune) bool { return r != '-' && !unicode.IsDigit(r) && !unicode.IsLetter(r) }
	if b.Device == "" || b.User == "" || len(b.User) > maxUserCode || strings.ContainsFunc(b.User, odd) {
		return errors.New("the platform gave no code")
	}
	s.device = b.Device
	s.Link = s.platforms(want).Open + "/page/cli?user_code=" + b.User
	s.poll = within(b.Interval, s.unit, usualPoll, longestPoll)
	s.Life = within(max(b.ExpiresIn, b.ExpireIn), s.unit, usualLife, longestLife)
	return nil
}

// within reads a number of units of the platform, between nothing and the longest.
func within(n int64, unit, usual, longest time.Duration) time.Duration {
	if n <= 0 {
		return usual
	}
	return min(time.Duration(min(n, int64(longest/time.Second)))*unit, longest)
}

type polledAnswer struct {
	Error    string `json:"error"`
	ID       string `json:"client_id"`
	Secret   string `json:"client_secret"`
	UserInfo struct {
		OpenID string `json:"open_id"`
		Brand  Brand  `json:"tenant_brand"`
	} `json:"user_info"`
}

// Await asks until the code was scanned and the app is there. moved is told when the sign-in goes on at
// another brand.
func (s *SignIn) Await(ctx context.Context, moved func(Brand)) (Credentials, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Life, ErrCodeExpired)
	defer cancel()
	for {
		var got polledAnswer
		err := s.ask(ctx, url.Values{"action": {"poll"}, "device_code": {s.device}}, &got)
		if ctx.Err() != nil {
			return Credentials{}, context.Cause(ctx)
		}
		var wait time.Duration
		if err != nil {
			if !passing(err) {
				return Credentials{}, err
			}
			s.poll = min(s.poll+afterFailure/time.Second*s.unit, longestPoll)
			wait = s.poll
		} else {
			var c Credentials
			if c, wait, err = s.take(got, moved); err != nil || c != (Credentials{}) {
				return c, err
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return Credentials{}, context.Cause(ctx)
		}
	}
}

// passing reports whether asking again may help.
func passing(err error) bool {
	refusal, answered := errors.AsType[*answer](err)
	return !answered || passingStatus(refusal.status)
}

// take follows one answer: credentials, or how long to wait for the next.
func (s *SignIn) take(got polledAnswer, moved func(Brand)) (c Credentials, wait time.Duration, err error) {
	if theirs := got.UserInfo.Brand; theirs.Known() && theirs != s.brand {
		if s.switched {
			return c, 0, errors.New("the platform sends the sign-in from one brand to the other and back")
		}
		s.brand, s.switched = theirs, true
		moved(theirs)
		return c, 0, nil // that brand's host has the credentials, and is asked at once
	}
	switch got.Error {
	case "":
	case "authorization_pending":
		return c, s.poll, nil
	case "slow_down":
		s.poll = min(s.poll+slowDown/time.Second*s.unit, longestPoll)
		return c, s.poll, nil
	case "access_denied":
		return c, 0, ErrDeclined
	case "expired_token", "invalid_grant":
		return c, 0, ErrCodeExpired
	default:
		return c, 0, fmt.Errorf("the platform ended the sign-in: %s", plain(got.Error))
	}
	if got.ID == "" || got.Secret == "" {
		return c, s.poll, nil
	}
	c = Credentials{AppID: got.ID, AppSecret: got.Secret, Brand: s.brand, OwnerOpenID: got.UserInfo.OpenID}
	if !ValidOpenID(c.OwnerOpenID) {
		c.OwnerOpenID = ""
	}
	return c, 0, c.Check()
}

// plain is what may be shown of a word that the platform made up.
func plain(word string) string {
	return channel.Clip(strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_') {
			return r
		}
		return -1
	}, word), 64)
}

// ask sends one step of the flow. Its answers explain themselves with any status below 500.
func (s *SignIn) ask(ctx context.Context, form url.Values, into any) error {
	c := newClient(s.base, s.platforms(s.brand))
	c.limit = signInTime
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		c.platform.Accounts+"/oauth/v1/app/registration", strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("cannot ask for a sign-in: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, body, err := c.do(request)
	if err != nil {
		return err
	}
	if status >= 500 || channel.ReadJSON(body, into) != nil {
		return &answer{status: status, meaning: meaning{says: "nothing that can be read"}}
	}
	var said struct {
		Error string `json:"error"`
	}
	_ = channel.ReadJSON(body, &said) // read has read it before
	if form.Get("action") != "poll" && said.Error != "" {
		return fmt.Errorf("the platform gives no code: %s", plain(said.Error))
	}
	return nil
}
