// Command fake is the fake programs of tests, and nothing else.
package main

import (
	"os"

	"scv/internal/testexe"
)

func main() {
	testexe.Run() // and never returns, where there is a script
	println("fake: a script is missing")
	os.Exit(testexe.ExitScript)
}
