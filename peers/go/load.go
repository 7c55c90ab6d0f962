package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"
	"github.com/nbd-wtf/go-nostr/nip46"
)

const (
	// contentLength of the events that are signed, in bytes.
	contentLength = 200
	// loadTimeout is the longest time without any answer.
	loadTimeout = 20 * time.Second
)

// load is the client of the case bunker_sign: it keeps a number of requests to sign under way. Answers
// are decrypted and their events compared with the drafts; signatures are verified after the clock.
func load(arguments []string) error {
	options := flag.NewFlagSet("load", flag.ContinueOnError)
	link := options.String("bunker", "", "URL of the signer")
	inFlight := options.Int("in-flight", 1, "requests that are under way at once")
	count := options.Int("count", 1000, "signatures")
	if err := options.Parse(arguments); err != nil {
		return err
	}
	if *inFlight < 1 || *count < *inFlight {
		return errors.New("in-flight is at least 1 and at most count")
	}
	one, err := dial(*link)
	if err != nil {
		return err
	}
	if _, err := one.call("connect", one.signer, one.secret); err != nil {
		return err
	}
	if one.user, err = one.call("get_public_key"); err != nil {
		return err
	}
	// The first signatures are not counted: code is compiled, keys are derived.
	if _, _, err := one.sign(*inFlight, min(*count, 200)); err != nil {
		return err
	}
	if err := announce(fields{"ready": true}); err != nil {
		return err
	}
	return serveLoad(one, *inFlight, *count)
}

// serveLoad does a run for each line of input, so that others read the signer's clock between them.
func serveLoad(one *caller, inFlight, count int) error {
	return serve(os.Stdin, os.Stdout, func([]byte) (fields, error) {
		wall, delays, err := one.sign(inFlight, count)
		if err != nil {
			return nil, err
		}
		slices.Sort(delays)
		at := func(share int) int64 { return delays[(len(delays)-1)*share/100].Nanoseconds() }
		return fields{
			"signatures": count, "wall_ns": wall.Nanoseconds(), "p50_ns": at(50), "p99_ns": at(99),
		}, nil
	})
}

// A caller sends requests of its own making over one connection.
type caller struct {
	connection   *nostr.Relay
	answers      *nostr.Subscription
	key, public  string
	signer       string
	secret       string
	user         string
	conversation [32]byte
	serial       int
}

func dial(link string) (*caller, error) {
	signer, relays, secret, err := parts(link)
	if err != nil || len(relays) == 0 {
		return nil, errors.Join(err, errors.New("a bunker URL with a relay is needed"))
	}
	key := nostr.GeneratePrivateKey()
	one := &caller{key: key, signer: signer, secret: secret}
	if one.public, err = nostr.GetPublicKey(key); err != nil {
		return nil, err
	}
	if one.conversation, err = nip44.GenerateConversationKey(signer, key); err != nil {
		return nil, err
	}
	if one.connection, err = nostr.RelayConnect(context.Background(), relays[0]); err != nil {
		return nil, err
	}
	// The relay has verified the answers, and each is authenticated by its encryption.
	one.connection.AssumeValid = true
	// It reports each OK that was not awaited.
	nostr.InfoLogger.SetOutput(io.Discard)
	one.answers, err = one.connection.Subscribe(context.Background(), nostr.Filters{{
		Kinds:     []int{nostr.KindNostrConnect},
		Tags:      nostr.TagMap{"p": []string{one.public}},
		LimitZero: true,
	}})
	if err == nil {
		<-one.answers.EndOfStoredEvents
	}
	return one, err
}

// request is the message of a request and its id.
func (c *caller) request(method string, params ...string) (id, message string, err error) {
	c.serial++
	id = fmt.Sprintf("load-%d", c.serial)
	text, err := json.Marshal(nip46.Request{ID: id, Method: method, Params: append([]string{}, params...)})
	if err != nil {
		return "", "", err
	}
	sealed, err := nip44.Encrypt(string(text), c.conversation)
	if err != nil {
		return "", "", err
	}
	event := nostr.Event{
		Kind: nostr.KindNostrConnect, CreatedAt: nostr.Now(), Content: sealed,
		Tags: nostr.Tags{{"p", c.signer}},
	}
	if err := event.Sign(c.key); err != nil {
		return "", "", err
	}
	return id, fmt.Sprintf(`["EVENT",%s]`, event.String()), nil
}

// next is the next answer of the signer.
func (c *caller) next() (answer nip46.Response, err error) {
	select {
	case event, open := <-c.answers.Events:
		if !open {
			return answer, errors.New("the relay ended the subscription")
		}
		text, err := nip44.Decrypt(event.Content, c.conversation)
		if err == nil {
			err = json.Unmarshal([]byte(text), &answer)
		}
		return answer, err
	case <-time.After(loadTimeout):
		return answer, errors.New("no answer")
	}
}

func (c *caller) call(method string, params ...string) (string, error) {
	id, message, err := c.request(method, params...)
	if err != nil {
		return "", err
	}
	if err := <-c.connection.Write([]byte(message)); err != nil {
		return "", err
	}
	for {
		answer, err := c.next()
		switch {
		case err != nil:
			return "", err
		case answer.ID != id:
		case answer.Error != "":
			return "", fmt.Errorf("%s: %s", method, answer.Error)
		default:
			return answer.Result, nil
		}
	}
}

// sign has count events signed, inFlight at once: the time of all, and that of each.
func (c *caller) sign(inFlight, count int) (time.Duration, []time.Duration, error) {
	// Requests are made before, so that the client's own work takes no time from the signer.
	ids := make([]string, count)
	messages := make([]string, count)
	content := strings.Repeat("endseal. ", contentLength)[:contentLength]
	draft := fmt.Sprintf(`{"pubkey":%q,"kind":1,"created_at":%d,"tags":[],"content":%q}`,
		c.user, time.Now().Unix(), content)
	var err error
	for at := range ids {
		if ids[at], messages[at], err = c.request("sign_event", draft); err != nil {
			return 0, nil, err
		}
	}
	sent := make(map[string]time.Time, inFlight)
	delays := make([]time.Duration, 0, count)
	results := make([]string, 0, count)
	start := time.Now()
	for next := 0; len(results) < count; {
		for ; next < count && len(sent) < inFlight; next++ {
			sent[ids[next]] = time.Now()
			c.connection.Write([]byte(messages[next]))
		}
		answer, err := c.next()
		if err != nil {
			return 0, nil, err
		}
		began, known := sent[answer.ID]
		if !known {
			continue
		}
		if answer.Error != "" {
			return 0, nil, fmt.Errorf("sign_event: %s", answer.Error)
		}
		delete(sent, answer.ID)
		delays = append(delays, time.Since(began))
		results = append(results, answer.Result)
	}
	wall := time.Since(start)
	return wall, delays, c.examine(results, content)
}

// examine verifies what came back, on all CPUs.
func (c *caller) examine(results []string, content string) error {
	failures := make(chan error, len(results))
	var all sync.WaitGroup
	for part := range slices.Chunk(results, 1+len(results)/4) {
		all.Add(1)
		go func() {
			defer all.Done()
			for _, text := range part {
				var event nostr.Event
				if err := json.Unmarshal([]byte(text), &event); err != nil {
					failures <- err
				} else if event.Content != content || event.PubKey != c.user || verified(event) != nil {
					failures <- errors.New("an event was not signed as it was asked")
				}
			}
		}()
	}
	all.Wait()
	close(failures)
	return <-failures
}
