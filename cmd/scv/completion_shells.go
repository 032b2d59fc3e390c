package main

import (
	"fmt"
	"strings"
)

// Each script first finds out which command the line is at, skipping flags and their values, and then
// offers what may come next there.

func bashScript(all []verbPage) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# bash completion of scv, made by: scv completion bash
_scv() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= i words= flags= IFS=$' \t\n'
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
        *' --home'|%s) ((i++)) ;;
        %s) at+=" ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$cur $prev" in # --flag=value is three words to bash
    '= '*) cur= ;;
    *' =') prev=${COMP_WORDS[COMP_CWORD-2]} ;;
    esac
    case "$at $prev" in
`, patterns(valueFlags(all, ""), "|"), patterns(verbPaths(all), "|"))
	for _, p := range all {
		for _, f := range p.flags {
			if few := choices(f.Value); few != nil {
				fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", shellQuote(p.path+" --"+f.Name), shellQuote(strings.Join(few, " ")))
			}
		}
	}
	dirs := append([]string{" --home"}, valueFlags(all, "DIR")...)
	fmt.Fprintf(&b, "    *%s) compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n", patterns(dirs, "|"))
	fmt.Fprintf(&b, "    %s) compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", patterns(append(valueFlags(all, "FILE"), " FILE"), "|"))
	fmt.Fprintf(&b, "    %s) return ;;\n    esac\n    case \"$at\" in\n", patterns(valueFlags(all, ""), "|"))
	for _, p := range all {
		fmt.Fprintf(&b, "    %s) words=%s; flags=%s ;;\n", shellQuote(p.path), shellQuote(words(p.offeredVerbs())), shellQuote(words(p.offeredFlags())))
	}
	fmt.Fprintf(&b, `    esac
    if [[ $cur != -* ]]; then
        case "$at" in
        %s) compopt -o default 2>/dev/null; return ;;
        esac
        flags=${words:-$flags}
    fi
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
}
complete -F _scv scv
`, patterns(filePaths(all), "|"))
	return b.String()
}

func zshScript(all []verbPage) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#compdef scv
# zsh completion of scv, made by: scv completion zsh
_scv() {
    local at= i
    local -a verbs flags
    for ((i = 2; i < CURRENT; i++)); do
        case "$at ${words[i]}" in
        (*' --home'|%s) ((i++)) ;;
        (%s) at+=" ${words[i]}" ;;
        esac
    done
    local prev=${words[CURRENT-1]}
    if [[ ${words[CURRENT]} == --*=* ]]; then # --flag=value is one word to zsh
        prev=${words[CURRENT]%%%%=*}
        compset -P '*='
    fi
    case "$at $prev" in
`, patterns(valueFlags(all, ""), "|"), patterns(verbPaths(all), "|"))
	for _, p := range all {
		for _, f := range p.flags {
			if few := choices(f.Value); few != nil {
				fmt.Fprintf(&b, "    (%s) compadd %s; return ;;\n", shellQuote(p.path+" --"+f.Name), patterns(few, " "))
			}
		}
	}
	fmt.Fprintf(&b, "    (*%s) _files -/; return ;;\n", patterns(append([]string{" --home"}, valueFlags(all, "DIR")...), "|"))
	fmt.Fprintf(&b, "    (%s) _files; return ;;\n", patterns(append(valueFlags(all, "FILE"), " FILE"), "|"))
	fmt.Fprintf(&b, "    (%s) return ;;\n    esac\n    case \"$at\" in\n", patterns(valueFlags(all, ""), "|"))
	for _, p := range all {
		fmt.Fprintf(&b, "    (%s)\n        verbs=(%s)\n        flags=(%s) ;;\n", shellQuote(p.path), described(p.offeredVerbs()), described(p.offeredFlags()))
	}
	fmt.Fprintf(&b, `    esac
    if [[ ${words[CURRENT]} == -* ]]; then
        _describe option flags
        return
    fi
    case "$at" in
    (%s) _files ;;
    (*) if ((${#verbs})); then _describe command verbs; else _describe option flags; fi ;;
    esac
}
if [[ $funcstack[1] == _scv ]]; then _scv "$@"; else compdef _scv scv; fi
`, patterns(filePaths(all), "|"))
	return b.String()
}

// described are the words of zsh's _describe, each with its help after a colon.
func described(all []offered) string {
	var out []string
	for _, o := range all {
		out = append(out, shellQuote(o.word+":"+o.help))
	}
	return strings.Join(out, " ")
}

func fishScript(all []verbPage) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# fish completion of scv, made by: scv completion fish
function __scv_at --description 'Whether the command line is at this command of scv'
    set -l at ''
    set -l skip no
    set -l typed (commandline -opc)
    set -e typed[1]
    for word in $typed
        if test $skip = yes
            set skip no
            continue
        end
        switch "$at $word"
            case '* --home' %s
                set skip yes
            case %s
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c scv -l home -x -a '(__fish_complete_directories)' -d 'Folder of this SCV.'
complete -c scv -s h -l help -d 'Show the help of this command.'
`, fishWords(valueFlags(all, "")), fishWords(verbPaths(all)))
	for _, p := range all {
		here := "complete -c scv -n " + fishQuote("__scv_at "+fishQuote(p.path))
		verbs := p.offeredVerbs()
		if !p.takesFiles() {
			fmt.Fprintf(&b, "%s -f\n", here)
		}
		for _, o := range verbs {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", here, o.word, fishQuote(o.help))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, "%s -l %s", here, f.Name)
			if f.Short != 0 {
				fmt.Fprintf(&b, " -s %c", f.Short)
			}
			switch few := choices(f.Value); {
			case few != nil:
				fmt.Fprintf(&b, " -x -a %s", fishQuote(strings.Join(few, " ")))
			case place(f.Value) == "DIR":
				b.WriteString(" -x -a '(__fish_complete_directories)'")
			case place(f.Value) == "FILE":
				b.WriteString(" -r")
			case !f.IsBool():
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d %s\n", fishQuote(f.Help))
		}
	}
	return b.String()
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func fishWords(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = fishQuote(s)
	}
	return strings.Join(quoted, " ")
}
