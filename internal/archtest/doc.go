// Package archtest holds the code to the architecture: which room may import which, which outside power
// has one door, how large a file and a function may grow, what stands at the top of the repository.
// Every rule is a row of a table with its reason, and a breach prints the rule, the reason and the place.
//
// To add a package, add its row to rooms.go. To open a door, change its row in doors.go and say why.
// The fences are tested themselves: testdata holds a small bad tree for each rule. Nobody imports this
// package; its tests are its use.
package archtest
