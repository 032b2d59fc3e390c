package wechat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"scv/daemon/channel"
)

// Bounds of a sign-in.
const (
	SignInTime  = 300 * time.Second // of all of it
	statusTime  = 50 * time.Second  // of one question for the status, which the platform holds
	codeTime    = 20 * time.Second  // of one request for a code
	betweenAsks = 2 * time.Second
	maxCodes    = 4 // the first, and three more when they expire
)

// How a sign-in can end besides credentials.
var (
	ErrNotScanned = errors.New("the code was not scanned in time")
	ErrCodes      = errors.New("several codes have expired, one after the other")
	ErrBound      = errors.New("this WeChat has a bot of this machine already, and the platform gives no second token for it: " +
		"the account that has it goes on working, and another one needs another WeChat")
)

// SignIn is one try to sign in by a code that somebody scans. The platform makes a bot for it, which is theirs.
type SignIn struct {
	HTTP     *http.Client
	Platform Platform
	Origin   string // where it begins; "" is the usual place

	// What the person is told and asked meanwhile, one at a time.
	Show    func(link string, renewed bool)                                // a code to scan, in the place of the one before
	Scanned func()                                                         // the phone has it, and waits for a yes
	Number  func(ctx context.Context, wrong bool) (code string, err error) // what the phone shows; wrong: the last was not it

	pause, life time.Duration // between questions, and of all of it; 0 is the usual one
}

// signing is a sign-in on its way.
type signing struct {
	SignIn
	http   http.Client
	first  string // origin where it began
	origin string // whose host is asked now
	codes  int
	code   string
	number string // what the phone shows, as the person typed it, or ""
	told   bool   // that it was scanned
}

// Run asks for codes until one was scanned and the bot is there. Nothing of it is kept anywhere.
func (o SignIn) Run(ctx context.Context) (Credentials, error) {
	s := &signing{
		SignIn: o, http: channel.WithoutRedirects(o.HTTP),
		first: cmp.Or(o.Origin, publicAPI),
	}
	s.pause, s.life = cmp.Or(s.pause, betweenAsks), cmp.Or(s.life, SignInTime)
	ctx, cancel := context.WithTimeoutCause(ctx, s.life, ErrNotScanned)
	defer cancel()
	if err := s.renew(ctx); err != nil {
		return Credentials{}, ended(ctx, err)
	}
	for {
		c, wait, err := s.step(ctx)
		if err != nil || c != (Credentials{}) {
			return c, ended(ctx, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return Credentials{}, context.Cause(ctx)
		}
	}
}

// ended is why it ended: what the context says, where that is over.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// renew asks for a code and has it shown. A code belongs to where every sign-in begins.
func (s *signing) renew(ctx context.Context) error {
	if s.codes++; s.codes > maxCodes {
		return ErrCodes
	}
	s.origin, s.number, s.told = s.first, "", false
	var got struct {
		head
		Code string `json:"qrcode"`
		Link string `json:"qrcode_img_content"`
	}
	if err := s.ask(ctx, codeTime, "get_bot_qrcode", url.Values{"bot_type": {"3"}}, &got); err != nil {
		return fmt.Errorf("cannot get a code: %w", err)
	}
	if err := got.check(); err != nil {
		return fmt.Errorf("cannot get a code: %w", err)
	}
	if got.Code == "" {
		return errors.New("the platform gave no code")
	}
	s.code = got.Code
	if got.Link == "" {
		got.Link = got.Code
	}
	s.Show(got.Link, s.codes > 1)
	return nil
}

// statusAnswer is what the platform says of a code.
type statusAnswer struct {
	head
	Status string `json:"status"`
	Host   string `json:"redirect_host"`
	Token  string `json:"bot_token"`
	BotID  string `json:"ilink_bot_id"`
	UserID string `json:"ilink_user_id"`
	Base   string `json:"baseurl"`
}

// step asks once and follows the answer: credentials, or how long to wait until the next question.
func (s *signing) step(ctx context.Context) (c Credentials, wait time.Duration, err error) {
	query := url.Values{"qrcode": {s.code}}
	if s.number != "" {
		query.Set("verify_code", s.number)
	}
	var got statusAnswer
	err = s.ask(ctx, statusTime, "get_qrcode_status", query, &got)
	if _, passes := errors.AsType[*passing](err); passes {
		return c, s.pause, nil // as good as "wait": the person may be scanning just now
	}
	if err == nil {
		err = got.check()
	}
	if err != nil {
		return c, 0, fmt.Errorf("the platform ended the sign-in: %w", err)
	}
	switch got.Status {
	case "scaned":
		s.number = "" // it was right
		s.scanned()
	case "scaned_but_redirect":
		s.scanned()
		return c, s.pause, s.follow(got.Host)
	case "need_verifycode":
		s.number, err = s.Number(ctx, s.number != "")
		return c, 0, err
	case "expired", "verify_code_blocked":
		return c, s.pause, s.renew(ctx)
	case "binded_redirect":
		return c, 0, ErrBound
	case "confirmed":
		c, err = s.confirmed(got)
		return c, 0, err
	}
	return c, s.pause, nil // "wait", or something newer
}

func (s *signing) scanned() {
	if !s.told {
		s.told = true
		s.Scanned()
	}
}

// follow goes on at the host of the person's region.
func (s *signing) follow(host string) error {
	if host == "" {
		return nil
	}
	origin, err := ReadOrigin("https://" + host)
	if err != nil || !related(s.first, origin) {
		return errors.New("the platform sends the sign-in to a host that is not its own")
	}
	s.origin = origin
	return nil
}

// confirmed makes credentials of the last answer: all of them or none.
func (s *signing) confirmed(got statusAnswer) (Credentials, error) {
	c := Credentials{Token: got.Token, BaseURL: s.origin, BotID: got.BotID, UserID: got.UserID}
	if c.Token == "" || c.BotID == "" || c.UserID == "" {
		return Credentials{}, errors.New("the platform confirms the sign-in and does not say as whom")
	}
	if got.Base != "" {
		origin, err := ReadOrigin(got.Base)
		if err != nil || !related(s.first, origin) {
			return Credentials{}, errors.New("the platform names a host for the bot that is not its own")
		}
		c.BaseURL = origin
	}
	if err := c.Check(); err != nil {
		return Credentials{}, err
	}
	return c, nil
}

// passing is a failure after which the same question may be answered.
type passing struct{ err error }

func (p *passing) Error() string { return p.err.Error() }
func (p *passing) Unwrap() error { return p.err }

// ask sends one question. It carries no secret but the code, of which no error has a word.
func (s *signing) ask(ctx context.Context, limit time.Duration, what string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		s.Platform.api(s.origin)+"/ilink/bot/"+what+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return errors.New("the platform's address cannot be used")
	}
	response, err := s.http.Do(request)
	if err != nil {
		return &passing{fmt.Errorf("cannot reach the platform: %w", channel.WithoutURL(err))}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	status := response.StatusCode
	switch {
	case err != nil:
		return &passing{fmt.Errorf("cannot reach the platform: %w", err)}
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return &passing{fmt.Errorf("HTTP %d", status)}
	case status != http.StatusOK:
		return fmt.Errorf("HTTP %d", status)
	case len(body) > maxAnswer || channel.ReadJSON(body, into) != nil:
		return errors.New("something that cannot be read")
	}
	return nil
}
