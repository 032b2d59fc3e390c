package confirm_test

import (
	"strings"
	"testing"
	"time"

	"scv/daemon/confirm"
	"scv/wire"
)

var (
	yesWords      = []string{"yes", "y", "是", "是的", "确认", "同意"}
	noWords       = []string{"no", "n", "否", "不", "不要", "取消", "算了", "stop"}
	everydayWords = []string{"ok", "okay", "好", "好的", "可以", "行", "嗯", "👍"}
)

// judgeOne rules on a text while one question, 3f, is open.
func judgeOne(t *testing.T, text string) confirm.Ruling {
	t.Helper()
	return confirm.Judge([]confirm.Question{opened(t, "q", 0x3f)}, says(text), at(2*time.Minute))
}

func TestEveryAnswerWord(t *testing.T) {
	dress := []func(string) string{
		func(w string) string { return w },
		strings.ToUpper,
		func(w string) string { return " \t\n" + w + "\u3000\n" },
		func(w string) string { return w + "." },
		func(w string) string { return w + "!!!" },
		func(w string) string { return w + "。" },
		func(w string) string { return w + "！" },
		func(w string) string { return w + " 3f" },
		func(w string) string { return strings.ToUpper(w) + "   3F." },
	}
	for state, words := range map[wire.ConfirmState][]string{wire.Yes: yesWords, wire.No: noWords} {
		for _, w := range words {
			for _, d := range dress {
				r := judgeOne(t, d(w))
				if r.Verdict != confirm.Answered || len(r.Changed) != 1 || r.Changed[0].State != state {
					t.Errorf("%q: %+v", d(w), r)
					continue
				}
				if got := r.Changed[0].Receipt.Word; got != w {
					t.Errorf("%q: word %q in the receipt", d(w), got)
				}
				if begin := map[wire.ConfirmState]string{wire.Yes: "Going ahead", wire.No: "Stopped"}[state]; len(r.Lines) != 1 || !strings.HasPrefix(r.Lines[0], begin) {
					t.Errorf("%q: the chat is told %q", d(w), r.Lines)
				}
			}
		}
	}
}

// TestLookAlikes has what is near an answer and must not be one.
func TestLookAlikes(t *testing.T) {
	cases := map[confirm.Verdict][]string{
		confirm.NotForUs: {
			"", " ", "yeah", "yep", "yess", "yes1", "nope", "nah", "да", "уеѕ", "ｙｅｓ", "\u202eyes",
			"是是", "是吗", "不是", "不行", "不要删除", "好啊", "okay then", "ok!?", "k", "👍👍", "👎", "1", "true", "3f", "[强]",
			"stopping", "ye s", "“yes”", "(yes)", "> yes", "/stop", "请确认", "好的，去做", "ſtop",
		},
		confirm.HintAndTurn: {
			"yes, but check first", "yes please", "yes?", "yes yes", "yes !", "Yes - go", "no problem", "y/n", "stop the server",
			"是的，但是先检查", "不，先等等", "取消 全部", "yes 3", "yes 3fa", "yes 3g", "yes 3f please", "no,", "n…", "y\u200bes", "yes\u200b",
		},
		confirm.Hint: {
			"yes 3e", "no 00", "是 ff", "OK", " ok. ", "Okay!", "好", "好的。", "可以！", "行", "嗯", "👍",
		},
	}
	for want, texts := range cases {
		for _, text := range texts {
			r := judgeOne(t, text)
			if r.Verdict != want {
				t.Errorf("%q: verdict %d, want %d", text, r.Verdict, want)
			}
			for _, q := range r.Changed {
				if q.State != wire.Pending {
					t.Errorf("%q ended the question: %s", text, q.State)
				}
			}
			if hinted := len(r.Lines) == 1; hinted != (want != confirm.NotForUs) {
				t.Errorf("%q: %d lines", text, len(r.Lines))
			}
			if r.Verdict.Turn() != (want != confirm.Hint) {
				t.Errorf("%q: turn %v", text, r.Verdict.Turn())
			}
		}
	}
}

func TestEverydayWordsGetOneHintAndNoTurn(t *testing.T) {
	open := []confirm.Question{opened(t, "q", 0x3f)}
	for i, w := range append(everydayWords, everydayWords...) {
		r := confirm.Judge(open, says(w), at(2*time.Minute))
		if r.Verdict != confirm.Hint || len(r.Lines) != map[bool]int{true: 1, false: 0}[i == 0] {
			t.Errorf("message %d, %q: %+v", i, w, r)
		}
		if len(r.Changed) == 1 {
			open = r.Changed
		}
	}
	if r := confirm.Judge(open, says("yes, but check first"), at(2*time.Minute)); r.Verdict != confirm.NotForUs {
		t.Errorf("a second hint: %+v", r)
	}
	if r := confirm.Judge(open, says("yes"), at(2*time.Minute)); r.Verdict != confirm.Answered {
		t.Errorf("a hint closed the question to answers: %+v", r)
	}
}
