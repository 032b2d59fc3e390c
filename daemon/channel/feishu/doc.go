// Package feishu runs accounts of Feishu and of Lark, which is the same platform under another name. It
// alone knows that platform's API: the daemon's composition root makes adapters here, and the hand signs
// accounts in.
//
// Messages come by the platform's long connection, a WebSocket with small protobuf frames. The client for
// it is our own (socket.go, frame.go): the vendor's cannot be stopped cleanly, does not notice a peer that
// died silently, and acknowledges by itself, while here an event is acknowledged only after its message is
// durable. What is sent, looked up and caught up on goes by plain HTTP with net/http (api.go): it is a
// dozen calls, for which the vendor's SDK would bring hundreds. That SDK has a use all the same: it runs
// against the fake platform of our tests, so that the fake is no friend of ours alone.
//
// A message that was sent while no connection stood is never pushed. So each connection begins by reading
// what happened in the known chats since the checkpoint (catchup.go), which is kept by Host.ReceiveTo in the
// commit of the messages it leaves behind.
//
// codes.go is the table of what the platform's codes mean for us. Secrets are the app's secret, its tokens
// and the socket's URL: none of them is in an error or a log.
package feishu
