// Command endseal-peers-go is go-nostr beside endseal-nostr, behind the benchmark peer protocol of
// docs/spec/bench-peer.md. With the argument "interop" it encrypts and signs for tests instead.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 0:
		return serve(os.Stdin, os.Stdout, newPeer().answer)
	case len(arguments) == 1 && arguments[0] == "interop":
		return serve(os.Stdin, os.Stdout, interop)
	default:
		return errors.New("usage: endseal-peers-go [interop]")
	}
}
