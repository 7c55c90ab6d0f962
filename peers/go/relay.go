package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fiatjaf/khatru"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip11"
)

// relay is khatru without storage: it delivers and acknowledges events of ephemeral kinds. The port
// is given to start it again where it was.
func relay(arguments []string) error {
	options := flag.NewFlagSet("relay", flag.ContinueOnError)
	address := options.String("listen", "127.0.0.1:0", "address and port")
	auth := options.Bool("auth", false, "let only connections with a log-in (NIP-42) read kind 24133")
	burst := options.Int("burst", 0, "answers at once; beyond them, five a second")
	longest := options.Int64("max-message", 0, "bytes of a message from a client, told by NIP-11")
	if err := options.Parse(arguments); err != nil {
		return err
	}
	server := khatru.NewRelay()
	if *auth {
		server.RejectFilter = append(server.RejectFilter, withoutLogIn)
	}
	if *burst > 0 {
		server.RejectEvent = append(server.RejectEvent, newBucket(*burst).reject)
	}
	if *longest > 0 {
		server.MaxMessageSize = *longest
		server.Info.Limitation = &nip11.RelayLimitationDocument{MaxMessageLength: int(*longest)}
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(listener, server) }()
	if err := announce(fields{"relay": fmt.Sprintf("ws://%s", listener.Addr())}); err != nil {
		return err
	}
	return untilInputEnds(failed)
}

// withoutLogIn rejects requests for messages of remote signing from connections that did not log in.
func withoutLogIn(ctx context.Context, filter nostr.Filter) (reject bool, msg string) {
	if !slices.Contains(filter.Kinds, nostr.KindNostrConnect) || khatru.GetAuthed(ctx) != "" {
		return false, ""
	}
	return true, "auth-required: messages of remote signing are for those who log in"
}

// A bucket holds a token for each answer that may be sent, and gets a new one each fifth of a second.
// Requests take none, as if all signers shared an address and each client had one of its own. A
// signer is an author to whom others wrote first.
type bucket struct {
	lock    sync.Mutex
	tokens  float64
	size    float64
	filled  time.Time
	clients map[string]bool
	signers map[string]bool
}

func newBucket(size int) *bucket {
	full := float64(size)
	return &bucket{tokens: full, size: full, clients: map[string]bool{}, signers: map[string]bool{}}
}

func (b *bucket) reject(_ context.Context, event *nostr.Event) (reject bool, msg string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if !b.signers[event.PubKey] {
		b.clients[event.PubKey] = true
		for tag := range event.Tags.FindAll("p") {
			b.signers[tag[1]] = !b.clients[tag[1]]
		}
		return false, ""
	}
	now := time.Now()
	b.tokens = min(b.size, b.tokens+5*now.Sub(b.filled).Seconds())
	b.filled = now
	if b.tokens < 1 {
		return true, "rate-limited: slow down"
	}
	b.tokens--
	return false, ""
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
