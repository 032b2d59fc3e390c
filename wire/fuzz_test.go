package wire

import (
	"bytes"
	"testing"
)

// fuzz feeds a decoder with its vectors and what the fuzzer makes of them. What is accepted must encode, and be
// accepted again as the same bytes.
func fuzz(f *testing.F, name string) {
	turn := messages[name]
	for _, path := range []string{seedVectors, extensionVectors} {
		for _, v := range readVectors(f, path) {
			if v.Type == name {
				f.Add([]byte(v.In))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { understoodInOneWay(t, turn, data) })
}

// understoodInOneWay reports whether a decoder accepts the data, and holds what it makes of that.
func understoodInOneWay(t *testing.T, turn func([]byte) ([]byte, error), data []byte) bool {
	t.Helper()
	once, err := turn(data)
	if err != nil {
		if once != nil {
			t.Errorf("refused and yet answered: %q", data)
		}
		return false
	}
	twice, err := turn(once)
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("%q is understood as %s, and that as %s (%v)", data, once, twice, err)
	}
	return true
}

func FuzzDecodeDaemonCommand(f *testing.F)        { fuzz(f, "DaemonCommand") }
func FuzzDecodeDaemonStatus(f *testing.F)         { fuzz(f, "DaemonStatus") }
func FuzzDecodeComponentHealth(f *testing.F)      { fuzz(f, "ComponentHealth") }
func FuzzDecodeDelegationSummary(f *testing.F)    { fuzz(f, "DelegationSummary") }
func FuzzDecodeDelegationInfo(f *testing.F)       { fuzz(f, "DelegationInfo") }
func FuzzDecodeRestartInfo(f *testing.F)          { fuzz(f, "RestartInfo") }
func FuzzDecodeConfirmInfo(f *testing.F)          { fuzz(f, "ConfirmInfo") }
func FuzzDecodeAccountSet(f *testing.F)           { fuzz(f, "AccountSet") }
func FuzzDecodeAccountSettings(f *testing.F)      { fuzz(f, "AccountSettings") }
func FuzzDecodeChatSend(f *testing.F)             { fuzz(f, "ChatSend") }
func FuzzDecodeChatSent(f *testing.F)             { fuzz(f, "ChatSent") }
func FuzzDecodeChatAttach(f *testing.F)           { fuzz(f, "ChatAttach") }
func FuzzDecodeChatAttached(f *testing.F)         { fuzz(f, "ChatAttached") }
func FuzzDecodeChatLine(f *testing.F)             { fuzz(f, "ChatLine") }
func FuzzDecodeConfirmDetail(f *testing.F)        { fuzz(f, "ConfirmDetail") }
func FuzzDecodeConfirmID(f *testing.F)            { fuzz(f, "ConfirmID") }
func FuzzDecodeConfirmListRequest(f *testing.F)   { fuzz(f, "ConfirmListRequest") }
func FuzzDecodeConfirmList(f *testing.F)          { fuzz(f, "ConfirmList") }
func FuzzDecodeStoreSnapshotRequest(f *testing.F) { fuzz(f, "StoreSnapshotRequest") }
func FuzzDecodeStoreSnapshot(f *testing.F)        { fuzz(f, "StoreSnapshot") }
