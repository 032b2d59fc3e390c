package process

import (
	"golang.org/x/sys/unix"
	"testing"
)

func BenchmarkPidfs(b *testing.B) {
	self, _ := Self()
	for b.Loop() {
		fd, _ := unix.PidfdOpen(self.PID, 0)
		var st unix.Stat_t
		unix.Fstat(fd, &st)
		unix.Close(fd)
	}
}
func BenchmarkScan(b *testing.B) {
	n := 0
	for b.Loop() {
		v, _ := table.Scan()
		n = len(v.procs)
	}
	b.ReportMetric(float64(n), "procs")
}
