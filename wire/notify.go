package wire

// MaxNotify is the longest text of daemon.notify, in bytes. Of a long one the chat shows the beginning.
const MaxNotify = 64 << 10

// Notify is the request of daemon.notify: one line for the owner, who need not answer it.
type Notify struct {
	Text string `json:"text"` // 1 byte..MaxNotify after trimming
}

// Notified is its reply, sent once the line is durable.
type Notified struct {
	Chat string `json:"chat"` // <channel>:<account> whose owner hears it
	Text string `json:"text"` // exactly as shown, without the frame around it
}

func (n *Notify) fields() []field {
	return []field{required("text", &n.Text, readText)}
}

func (n *Notified) fields() []field {
	return []field{
		required("chat", &n.Chat, readText),
		required("text", &n.Text, readText),
	}
}
