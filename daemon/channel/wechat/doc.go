// Package wechat runs bots of WeChat, by the platform's iLink API. It alone knows that API: the daemon's
// composition root makes adapters here, and the hand signs accounts in.
//
// It is JSON over HTTP, with a client of our own (api.go): there is no Go library for it. Messages come by a
// long poll (poll.go), each answer with a cursor, which is stored by Host.ReceiveTo in the commit of the
// messages it leaves behind. item.go and content.go read what came, send.go sends, fetch.go and upload.go carry
// files, which are encrypted (crypt.go), typing.go shows that somebody is writing.
//
// Two things are unlike any other platform. What a message is answered with carries that message's
// context_token, and a token is good for one send: a second one is answered as a success and shown to nobody. So
// the first part of the one answer carries it, and everything else goes without. And the chat shows all of a
// bot's messages alike, so what is not the agent's word is put into a block with a label (mark.go).
//
// codes.go says what the platform's answers mean for us. Secrets are the token and the keys of files: neither is
// in an error or a log.
package wechat
