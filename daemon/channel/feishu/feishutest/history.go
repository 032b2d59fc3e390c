package feishutest

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// get answers with one message; with a bundle of forwarded ones, with its parts too.
func (p *Platform) get(c *call) answer {
	m := p.message(c.PathValue("id"))
	switch {
	case m == nil:
		return *invalid("message_id")
	case !p.chat(m.chat).has(c.app.ID):
		return refuse(http.StatusBadRequest, codeNotInChat, "The bot can not be outside the group.")
	}
	items := []object{p.item(m)}
	for _, part := range p.messages {
		if part.upper == m.id {
			items = append(items, p.item(part))
		}
	}
	return ok(object{"items": items})
}

// page is what a list is asked for.
type page struct {
	kind, container string
	start, end      int64 // seconds; 0 is open
	descending      bool
	size, offset    int
}

const maxPage = 50

func (p *Platform) list(c *call) answer {
	asked, bad := readPage(c)
	if bad != nil {
		return *bad
	}
	found, bad := p.find(c.app, asked)
	if bad != nil {
		return *bad
	}
	slices.SortStableFunc(found, func(a, b *message) int { return a.at.Compare(b.at) })
	if asked.descending {
		slices.Reverse(found)
	}
	from := min(asked.offset, len(found))
	to := min(from+asked.size, len(found))
	items := []object{}
	for _, m := range found[from:to] {
		items = append(items, p.item(m))
	}
	data := object{"has_more": to < len(found), "items": items}
	if to < len(found) {
		data["page_token"] = "page-" + strconv.Itoa(to)
	}
	return ok(data)
}

func readPage(c *call) (*page, *answer) {
	q := c.URL.Query()
	a := &page{kind: q.Get("container_id_type"), container: q.Get("container_id"), size: 20}
	switch q.Get("sort_type") {
	case "", "ByCreateTimeAsc":
	case "ByCreateTimeDesc":
		a.descending = true
	default:
		return nil, invalid("sort_type")
	}
	for name, into := range map[string]*int64{"start_time": &a.start, "end_time": &a.end} {
		if text := q.Get(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n > int64(100*365*24*time.Hour/time.Second) { // milliseconds are a usual mistake
				return nil, invalid(name)
			}
			*into = n
		}
	}
	if text := q.Get("page_size"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return nil, invalid("page_size")
		}
		a.size = n
	}
	if text := q.Get("page_token"); text != "" {
		n, err := strconv.Atoi(text[min(len(text), len("page-")):])
		if err != nil {
			return nil, invalid("page_token")
		}
		a.offset = n
	}
	return a, nil
}

// find are the messages of a chat or a thread. A chat's list has the roots of its threads only.
func (p *Platform) find(app *App, asked *page) (found []*message, bad *answer) {
	switch {
	case asked.kind == "thread" && asked.start+asked.end != 0:
		return nil, invalid("start_time and end_time are not for threads")
	case asked.kind == "thread":
	case asked.kind != "chat":
		return nil, invalid("container_id_type")
	case !p.chat(asked.container).has(app.ID):
		a := refuse(http.StatusBadRequest, codeNotInChat, "The bot can not be outside the group.")
		return nil, &a
	}
	for _, m := range p.messages {
		second := m.at.Unix()
		of := m.chat == asked.container && (m.thread == "" || m.root == "")
		if asked.kind == "thread" {
			of = m.thread == asked.container && p.chat(m.chat).has(app.ID)
		}
		if of && m.upper == "" && second >= asked.start && (asked.end == 0 || second <= asked.end) {
			found = append(found, m)
		}
	}
	return found, nil
}
