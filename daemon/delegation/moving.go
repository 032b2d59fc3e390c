package delegation

import "errors"

// ErrMoving is why the contexts of the daemon's rooms end when it becomes another program: the runs of single
// turns go on meanwhile, and that program takes them up.
var ErrMoving = errors.New("the daemon goes over to another release")
