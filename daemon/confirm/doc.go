// Package confirm holds the rules of a yes/no question to the owner: every race in one place. It is
// pure: a question and a time go in, the changed question and what the chat is told come out. The
// daemon stores each change and queues its line in one transaction; everyone in the daemon may come in.
//
// A question is queued until its text is first handed to the platform, sending until the platform
// accepted it, open until it ends. An ended one never changes. A test holds this table to the code:
//
//	event               queued     sending    open       ended
//	attempt             sending    sending    open       ended
//	accept              open       open       open       ended
//	refuse              failed     failed     open       ended
//	yes                 queued     sending    yes        ended
//	no                  queued     sending    no         ended
//	poll                queued     sending    open       ended
//	note                queued     sending    open       ended
//	withdraw            withdrawn  withdrawn  withdrawn  ended
//	60 s unpolled       withdrawn  withdrawn  withdrawn  ended
//	deadline            failed     failed     expired    ended
//	attempt at deadline failed     failed     open       ended
//	accept at deadline  failed     failed     expired    ended
//	yes at deadline     queued     sending    expired    ended
//
// Two events at one moment: the deadline comes first. An answer that names no question counts only where it is clear
// which one is meant (swap.go). The chat hears one line of every end of a
// question it has seen, and of no other.
package confirm
