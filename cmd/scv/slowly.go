package main

import "time"

// quiet is how long nothing needs to be said about a wait (docs/rules.md §8).
const quiet = time.Second

// slowly tells a person who watches what is being done, once that has taken a while. The function it returns ends that.
func (a *app) slowly(doing string) (end func()) {
	if !a.watched {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(quiet, func() {
		defer close(told)
		a.note("%s ...", doing)
	})
	return func() {
		if !timer.Stop() {
			<-told
		}
	}
}
