// Package wechattest is a WeChat iLink platform in this process, for the tests of the adapter and for the
// demo. It speaks the platform's HTTP (sign-in, long poll, sending, typing) and its CDN with encrypted files,
// on loopback, and shares no code with the adapter: the vendor's own client, run against it unmodified by
// `make test-platforms`, is what keeps it honest.
//
//	p := wechattest.New(t, wechattest.Options{})     // Start without a test
//	bot := p.Bot()                                   // a bot with its token, made by Options or a sign-in
//	client := p.Client()                             // reaches ilinkai.weixin.qq.com and its kin here, nobody else
//	id := p.Say(bot.ID, bot.Owner, "hello")          // the next poll brings it
//	err := p.Await(ctx, func() bool { return p.Acked(id) })
//	sent, err := p.AwaitSent(ctx, func(sent []wechattest.Sent) bool { return len(sent) == 1 })
//	texts := p.Shown(bot.ID, bot.Owner)              // what that person sees of the bot
//
// A client that takes a base URL instead of a client uses URL (with the root of CertPEM) or PlainURL, with
// the CDN below /c2c.
//
// As on the real platform: a poll is answered at once when there is something behind its cursor, and held
// otherwise; what is behind a cursor comes again until a later cursor is shown; a context_token is good for
// one message, and a second one on it is answered as a success and shown to nobody; what was refused on a
// token stays refused; ids of messages are numbers beyond 2^53. Faults are data: see Fault, and Down,
// HalfOpen, Skew, Expire. A client that breaks the protocol is complained of, and New fails its test for it;
// see Complaints.
//
// Where the vendor's behaviour is not public, the fake is strict rather than kind. Only tests and the demo
// come in.
package wechattest
