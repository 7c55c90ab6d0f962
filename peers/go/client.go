package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip46"
)

// An order of the mode client, which tests/nostr/README.md describes.
type order struct {
	Do      string          `json:"do"`
	URI     string          `json:"uri"`
	Key     string          `json:"key"`
	Event   json.RawMessage `json:"event"`
	Count   int             `json:"count"`
	Scheme  string          `json:"scheme"`
	Peer    string          `json:"peer"`
	Text    string          `json:"text"`
	Method  string          `json:"method"`
	Params  []string        `json:"params"`
	Seconds float64         `json:"seconds"`
}

// A user of the library's client.
type user struct{ bunker *nip46.BunkerClient }

func client([]string) error {
	// The library's request loses the word that its relay is connected if that comes before it waits
	// for it, and then runs out of time. On one thread it waits first.
	runtime.GOMAXPROCS(1)
	one := &user{}
	return serve(os.Stdin, os.Stdout, one.answer)
}

// answer gives the result of an order and how long it took.
func (u *user) answer(line []byte) (fields, error) {
	var asked order
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, misunderstood("%v", err)
	}
	// The connection outlives the order that opens it.
	session := context.Background()
	limited, cancel := context.WithTimeout(session, time.Duration(asked.Seconds*float64(time.Second)))
	defer cancel()
	start := time.Now()
	result, err := u.result(session, limited, asked)
	switch {
	case err == nil:
		return fields{"result": result, "ms": time.Since(start).Milliseconds()}, nil
	case limited.Err() != nil:
		return nil, refusal{"timeout", err.Error()}
	default:
		if said, is := strings.CutPrefix(err.Error(), "response error: "); is {
			return nil, refusal{"refused", said}
		}
		return nil, err
	}
}

func (u *user) result(session, limited context.Context, asked order) (any, error) {
	switch asked.Do {
	case "connect":
		return nil, u.connect(session, limited, asked)
	case "resume":
		signer, relays, _, err := parts(asked.URI)
		if err == nil {
			u.bunker = nip46.NewBunker(session, asked.Key, signer, relays, nil, nil)
		}
		return nil, err
	case "uri", "wait":
		return nil, unsupported("no nostrconnect://")
	}
	if u.bunker == nil {
		return nil, misunderstood("not connected")
	}
	switch asked.Do {
	case "get_public_key":
		return u.bunker.GetPublicKey(limited)
	case "ping":
		// The library's Ping drops the answer.
		return u.bunker.RPC(limited, "ping", []string{})
	case "sign_event":
		return u.signed(limited, asked.Event)
	case "sign_many":
		return u.signedTogether(limited, asked)
	case "encrypt":
		if asked.Scheme == "nip04" {
			return u.bunker.NIP04Encrypt(limited, asked.Peer, asked.Text)
		}
		return u.bunker.NIP44Encrypt(limited, asked.Peer, asked.Text)
	case "decrypt":
		if asked.Scheme == "nip04" {
			return u.bunker.NIP04Decrypt(limited, asked.Peer, asked.Text)
		}
		return u.bunker.NIP44Decrypt(limited, asked.Peer, asked.Text)
	case "call":
		return u.bunker.RPC(limited, asked.Method, asked.Params)
	default:
		return nil, unsupported("no %s", asked.Do)
	}
}

// connect ends with the order's time, though the library's client keeps the context of its connection.
func (u *user) connect(session, limited context.Context, asked order) error {
	type outcome struct {
		bunker *nip46.BunkerClient
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		bunker, err := nip46.ConnectBunker(session, asked.Key, asked.URI, nil, func(string) {})
		done <- outcome{bunker, err}
	}()
	select {
	case it := <-done:
		if it.err == nil {
			u.bunker = it.bunker
		}
		return it.err
	case <-limited.Done():
		return errors.New("no answer to connect")
	}
}

func (u *user) signed(limited context.Context, draft json.RawMessage) (any, error) {
	var event nostr.Event
	if err := json.Unmarshal(draft, &event); err != nil {
		return nil, misunderstood("%v", err)
	}
	err := u.bunker.SignEvent(limited, &event)
	return event, err
}

// signedTogether sends all requests before the first answer is awaited.
func (u *user) signedTogether(limited context.Context, asked order) (any, error) {
	events := make([]any, asked.Count)
	failures := make(chan error, asked.Count)
	for at := range events {
		go func() {
			var err error
			events[at], err = u.signed(limited, asked.Event)
			failures <- err
		}()
	}
	var first error
	for range events {
		if err := <-failures; first == nil {
			first = err
		}
	}
	return events, first
}

// parts of a bunker URL.
func parts(link string) (signer string, relays []string, secret string, err error) {
	parsed, err := url.Parse(link)
	if err != nil {
		return "", nil, "", err
	}
	return parsed.Host, parsed.Query()["relay"], parsed.Query().Get("secret"), nil
}
