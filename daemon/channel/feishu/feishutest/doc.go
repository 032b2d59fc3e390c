// Package feishutest is a Feishu and Lark platform in this process, for the tests of the adapter and for
// the demo. It speaks the platform's HTTP and its long connection (WebSocket with pbbp2 frames) on loopback,
// and shares no code with the adapter: the vendor's own Go and Node clients, run against it unmodified by
// `make test-platforms`, are what keeps it honest.
//
//	p := feishutest.New(t, feishutest.Options{})     // Start without a test
//	app := p.App()                                   // an app with its bot, made by Options or a sign-in
//	client := p.Client()                             // reaches open.feishu.cn and its kin here, nobody else
//	chat := p.Direct(app.ID, app.Owner)              // the owner's chat with the bot
//	id := p.Say(chat, app.Owner, "hello")            // pushed to the app's sockets, kept in the history
//	err := p.Await(ctx, func() bool { return p.Acked(id) })
//	sent, err := p.AwaitSent(ctx, func(sent []feishutest.Sent) bool { return len(sent) == 1 })
//
// A client that takes a base URL instead of a client uses URL (with the root of CertPEM) or PlainURL; both
// brands answer on each, and under /feishu and /lark as that brand alone.
//
// What is sent while an app has no socket is kept in the history only, as on the real platform. A push that
// is not acknowledged is repeated after the times of Options.Repush. Faults are data: see Fault, and Kick,
// HalfOpen, Skew, ExpireTokens. A client that breaks the protocol is complained of, and New fails its test
// for it; see Complaints.
//
// Where the vendor's behaviour is not public, the fake is strict rather than kind. Only tests and the demo
// come in.
package feishutest
