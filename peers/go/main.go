// Command endseal-peers-go is go-nostr beside endseal-nostr, and age and HPKE with post-quantum keys
// beside endseal-envelope, behind the benchmark peer protocol of
// docs/spec/bench-peer.md. Its modes are programs for tests and for the case `bunker_sign`.
package main

import (
	"fmt"
	"os"
	"strings"
)

// A mode is a program that takes the arguments behind its name.
type mode struct {
	name string
	run  func(arguments []string) error
}

var modes = []mode{
	{"interop", func([]string) error { return serve(os.Stdin, os.Stdout, interop) }},
	{"relay", relay},
	{"bunker", bunker},
	{"client", client},
	{"load", load},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return serve(os.Stdin, os.Stdout, newPeer().answer)
	}
	var names []string
	for _, one := range modes {
		if one.name == arguments[0] {
			return one.run(arguments[1:])
		}
		names = append(names, one.name)
	}
	return fmt.Errorf("usage: endseal-peers-go [%s]", strings.Join(names, "|"))
}
