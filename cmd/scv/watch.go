package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"scv/wire/bus"
)

// look is what the daemon said of something at one moment.
type look interface {
	print(a *app, json bool) error
	still() look // the same without what changes by the hour alone: ages, times
}

// watchLooks shows something again and again. The daemon must be there at first; later it may come and
// go, which is shown too. An interrupt is the ordinary end.
func (a *app) watchLooks(json bool, take func(*app) (look, error)) error {
	quiet := *a
	quiet.watched = false // a word on stderr would tear the picture
	shown := display{a: a}
	restarts := false // the daemon said so when it was last seen
	for last := ""; ; {
		l, err := take(&quiet)
		if s, ok := l.(statusLook); ok && err == nil {
			restarts = s.status.Restart != nil
		}
		if err != nil && last != "" {
			err = between(err, restarts)
		}
		switch {
		case a.ctx.Err() != nil:
			return nil
		case err != nil && last == "":
			return err
		}
		text, key := frame(&quiet, l, json, err)
		if a.screen && !json {
			err = shown.draw(text)
		} else if key != last {
			err = shown.append(text, json)
		} else {
			err = readerGone(a.stdout)
		}
		if err != nil || !pause(a.ctx, a.pace.watch) {
			return err
		}
		last = key
	}
}

// between says of a daemon that goes over to a new release, or just comes or goes, no more than that.
func between(err error, restarts bool) error {
	if restarts || errors.Is(err, bus.ErrLost) || errors.Is(err, bus.ErrStarting) {
		return errors.New("the daemon is restarting or stopping; waiting for it")
	}
	return err
}

// frame is what is shown of a look, and a key that changes only when it does: ages do not count.
func frame(a *app, l look, json bool, failed error) (text, key string) {
	if failed != nil {
		text = "scv: " + line(failed.Error()) + "\n"
		return text, text
	}
	return textOf(a, l, json), textOf(a, l.still(), json)
}

func textOf(a *app, l look, json bool) string {
	var b strings.Builder
	onto := *a
	onto.stdout = &b
	if err := l.print(&onto, json); err != nil {
		return "scv: " + line(err.Error()) + "\n"
	}
	return b.String()
}

// display is where a watched thing is shown.
type display struct {
	a     *app
	drawn string // what stands there
}

// draw puts a text over the one before. Lines are cleared one by one, so that nothing flickers.
func (d *display) draw(text string) error {
	if text == d.drawn {
		return nil
	}
	begin := "\x1b[H"
	if d.drawn == "" {
		begin = "\x1b[2J\x1b[H"
	}
	d.drawn = text
	_, err := io.WriteString(d.a.stdout, begin+strings.ReplaceAll(text, "\n", "\x1b[K\n")+"\x1b[J")
	return err
}

// append puts a text below, with its time above it. JSON stands alone; what is no JSON goes to stderr.
func (d *display) append(text string, json bool) error {
	switch {
	case !json:
		_, err := fmt.Fprintf(d.a.stdout, "-- %s\n%s", d.a.now().Local().Format(time.DateTime), text)
		return err
	case strings.HasPrefix(text, "{"):
		_, err := io.WriteString(d.a.stdout, text)
		return err
	}
	_, err := io.WriteString(d.a.stderr, text)
	return err
}
