package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/fiatjaf/khatru"
)

// relay is khatru without storage: it delivers and acknowledges events of ephemeral kinds. The port
// is given to start it again where it was.
func relay(arguments []string) error {
	options := flag.NewFlagSet("relay", flag.ContinueOnError)
	address := options.String("listen", "127.0.0.1:0", "address and port")
	if err := options.Parse(arguments); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(listener, khatru.NewRelay()) }()
	if err := announce(fields{"relay": fmt.Sprintf("ws://%s", listener.Addr())}); err != nil {
		return err
	}
	return untilInputEnds(failed)
}

// announce writes the line by which a mode says that it serves.
func announce(said fields) error {
	line, err := encoded(said, nil)
	if err == nil {
		_, err = os.Stdout.Write(line)
	}
	return err
}

// untilInputEnds waits for the end of standard input, or for a failure.
func untilInputEnds(failed <-chan error) error {
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	select {
	case err := <-failed:
		return err
	case err := <-ended:
		return err
	}
}
