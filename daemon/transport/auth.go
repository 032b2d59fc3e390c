package transport

import (
	"crypto/subtle"

	"github.com/nats-io/nats-server/v2/server"
)

const allEvents = "daemon.event.>"

// authentication is how nats-server asks who a connection is.
type authentication Server

// Check lets in the daemon itself and connections with an unused token. A second CONNECT has none.
func (a *authentication) Check(client server.ClientAuthentication) bool {
	given := client.GetOpts()
	if given.Username == "daemon" {
		if subtle.ConstantTimeCompare([]byte(given.Password), []byte(a.pass)) != 1 {
			return false
		}
		client.RegisterUser(&server.User{Username: "daemon", Account: a.daemon})
		return true
	}
	c, ok := a.registry.redeem(given.Password)
	if !ok || c.name != given.Username {
		return false
	}
	client.RegisterUser(&server.User{Username: c.user, Account: a.clients, Permissions: a.permissions(c)})
	return true
}

func (a *authentication) permissions(c *connection) *server.Permissions {
	readable := []string{"_INBOX_" + c.name + ".>"}
	if c.peer.Verdict.Inside {
		readable = append(readable, a.options.EventSubjectsInside...)
	} else {
		readable = append(readable, allEvents)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publishable()},
		Subscribe: &server.SubjectPermission{Allow: readable},
	}
}
