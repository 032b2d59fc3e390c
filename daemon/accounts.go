package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"

	"scv/daemon/channel"
	"scv/daemon/channel/local"
	"scv/daemon/config"
	"scv/daemon/reconcile"
	"scv/internal/failpoint"
	"scv/store"
	"scv/wire"
)

// defaultLocal is the account of the built-in chat that every home has.
const defaultLocal = "local:default"

func isLocal(account string) bool { return strings.HasPrefix(account, "local:") }

// localOwner is who owns a local chat: whoever runs the daemon, as the socket proves.
func localOwner() string { return fmt.Sprintf("uid:%d", os.Getuid()) }

// prepareAccounts finishes what a crash cut short and makes the built-in chat.
func (d *Daemon) prepareAccounts(ctx context.Context) error {
	if err := d.makeDefaultLocal(ctx); err != nil {
		return err
	}
	for _, row := range d.accountRows() {
		if row.Account.LoggingOut {
			if err := d.forgetAccount(ctx, row.ID); err != nil {
				return err
			}
		}
	}
	return d.announceAuthority(ctx)
}

// makeDefaultLocal makes the built-in chat at the first start. One whose settings were damaged is not
// made afresh: that could undo what its owner had set.
func (d *Daemon) makeDefaultLocal(ctx context.Context) error {
	if _, broken := d.damagedAccounts()[defaultLocal]; broken {
		return nil
	}
	return d.store.Intend(ctx, func(tx *store.Intent) error {
		if _, known := tx.Account(defaultLocal); known {
			return nil
		}
		return tx.PutAccount(defaultLocal, newLocal(wire.ToolsOwner))
	})
}

func newLocal(tools wire.RemoteTools) store.Account {
	return store.Account{
		Enabled: true, RemoteTools: tools, Senders: wire.SendersOwner, OwnerID: localOwner(),
	}
}

func (d *Daemon) accountRows() (rows []store.AccountRow) {
	err := d.store.View(func(v *store.View) error {
		rows = v.Accounts()
		return nil
	})
	if err != nil {
		d.log.Error("cannot read the accounts", "err", err)
	}
	return rows
}

// damagedAccounts are accounts whose settings could not be read, with the reason.
func (d *Daemon) damagedAccounts() map[string]string {
	damaged := map[string]string{}
	for _, q := range d.store.Quarantined() {
		if q.Bucket == "accounts" {
			damaged[q.Key] = q.Reason
		}
	}
	return damaged
}

// dropDamaged gives up what was set aside of an account, because it is set anew.
func dropDamaged(tx *store.Intent, id string) error {
	for _, q := range tx.Quarantined() {
		if q.Bucket == "accounts" && q.Key == id {
			return tx.DropQuarantined(q)
		}
	}
	return nil
}

// desired is what every account should be, read afresh for each pass.
func (d *Daemon) desired() ([]reconcile.Desired, error) {
	signed := d.signIns()
	d.markTwins(signed)
	if err := d.adopt(context.Background(), signed); err != nil {
		d.log.Error("accounts that were signed in get their settings later", "err", err)
	}
	var all []reconcile.Desired
	err := d.store.View(func(v *store.View) error {
		for _, row := range v.Accounts() {
			if !row.Account.LoggingOut {
				all = append(all, d.desire(row, signed))
			}
		}
		return nil
	})
	for id := range d.damagedAccounts() {
		broken := "its settings were damaged and set aside; set it again: scv channels set " + id + " --enable"
		all = append(all, reconcile.Desired{Account: accountOf(id, ""), Enabled: true, Broken: broken})
	}
	return all, err
}

func (d *Daemon) desire(row store.AccountRow, signed map[string]signIn) reconcile.Desired {
	a := row.Account
	want := reconcile.Desired{
		Account: accountOf(row.ID, a.OwnerID), Enabled: a.Enabled, RemoteTools: a.RemoteTools,
		Senders: a.Senders, Workspace: a.Workspace, Agent: a.Agent,
	}
	if a.Workspace != "" {
		if err := config.CheckFolder(a.Workspace); err != nil {
			want.Broken = err.Error()
		}
	}
	want.Account.Anyone = a.Senders == wire.SendersAnyone
	if r, known := remoteOf(want.Account.Channel); known {
		d.desireRemote(r, &want, row, signed)
	} else if want.Account.Channel != "local" {
		want.Broken = "this release has no channel " + want.Account.Channel
	}
	return want
}

func accountOf(id, owner string) channel.Account {
	name, account, _ := strings.Cut(id, ":")
	return channel.Account{Channel: name, Name: account, OwnerID: owner}
}

// makeAdapter builds the adapter of one run of an account.
func (d *Daemon) makeAdapter(want reconcile.Desired, host channel.Host) (channel.Adapter, error) {
	if r, known := remoteOf(want.Account.Channel); known && !failpoint.Broken(failpoint.BrokenAccount) {
		return d.makeRemote(r, want, host)
	}
	if want.Account.Channel != "local" || failpoint.Broken(failpoint.BrokenAccount) {
		return nil, channel.Permanent("this release has no channel " + want.Account.Channel)
	}
	a := local.New(want.Account, host, func(ctx context.Context, out channel.Outgoing) (channel.Receipt, error) {
		return d.show(ctx, want.Account.ID(), out)
	})
	d.locals.Store(want.Account.ID(), a)
	return a, nil
}

// adapter is an account's running adapter.
func (d *Daemon) adapter(account string) (channel.Adapter, bool) { return d.accounts.Adapter(account) }

// typist is that adapter where its platform shows that somebody is writing.
func (d *Daemon) typist(account string) (channel.Typist, bool) { return d.accounts.Typist(account) }

// defaultWorkspace is where agents work when nothing else is set.
func (h Home) defaultWorkspace() (string, error) {
	path := h.join("workspace")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("the workspace %q cannot be made", path)
	}
	return path, nil
}
