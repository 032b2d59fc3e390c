package restart

import (
	"os"
	"slices"
	"strings"

	"scv/internal/failpoint"
)

// NoteAccounts keeps which accounts are connected as the old release leaves.
func (f Folder) NoteAccounts(ids []string) error {
	return f.place(fileAccounts, failpoint.RestartFile, 0o600, writing(strings.Join(ids, "\n")+"\n"))
}

// accounts are those; none where nobody has noted any, as before an unplanned start.
func (f Folder) accounts() []string {
	b, err := os.ReadFile(f.join(fileAccounts))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// Missing is an account that was connected under the old release and is not among these, "" for none.
func (f Folder) Missing(connected []string) string {
	for _, account := range f.accounts() {
		if !slices.Contains(connected, account) {
			return account
		}
	}
	return ""
}
