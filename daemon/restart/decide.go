package restart

// what a start does, by the rule of starts.
type deed string

const (
	serve  deed = "serve"     // nothing of the hand-over is left to do but to tell how it ended
	prove  deed = "prove"     // serve on probation
	goBack deed = "go back"   // make the old release's rollback true, then serve
	become deed = "become it" // the same, and then become the old release
)

// found is what the rule of starts decides on.
type found struct {
	New     bool    // we are the new release
	Given   bool    // a verdict stands
	Verdict Verdict // which
	Starts  int     // of the new release without a verdict, this one included; only asked of the new one
}

// maxStarts is the start of an unproven release at which it is rolled back: two have ended without a verdict.
const maxStarts = 3

// decide is the rule of starts. It is asked first of all by every start that finds a hand-over, after it has
// the lock.
//
//	we are          verdict     starts   then
//	the new one     none        1, 2     prove
//	the new one     none        3        give a rollback, become the old one
//	the new one     ok                   serve: it stays
//	the new one     rollback             become the old one
//	another         none                 give a rollback, go back, serve
//	another         rollback             go back, serve
//	another         ok                   serve: the new one had stayed
func decide(f found) (deed, Verdict) {
	switch {
	case f.New && f.Given && !f.Verdict.OK:
		return become, f.Verdict
	case f.New && !f.Given && f.Starts >= maxStarts:
		return become, Verdict{Why: "it ended twice before it had proven itself"}
	case f.New && !f.Given:
		return prove, Verdict{}
	case f.Given && f.Verdict.OK:
		return serve, f.Verdict
	case f.Given:
		return goBack, f.Verdict
	}
	return goBack, Verdict{Why: "another release was started before the new one had proven itself"}
}
