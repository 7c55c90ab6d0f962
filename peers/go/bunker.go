package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip46"
)

// bunker serves the library's signer over a relay: what it answers is published at once. Requests are
// handled side by side, one for each CPU.
func bunker(arguments []string) error {
	options := flag.NewFlagSet("bunker", flag.ContinueOnError)
	address := options.String("relay", "", "URL of the relay")
	if err := options.Parse(arguments); err != nil {
		return err
	}
	context := context.Background()
	connection, err := nostr.RelayConnect(context, *address)
	if err != nil {
		return err
	}
	secret := nostr.GeneratePrivateKey()
	public, err := nostr.GetPublicKey(secret)
	if err != nil {
		return err
	}
	filter := nostr.Filter{
		Kinds:     []int{nostr.KindNostrConnect},
		Tags:      nostr.TagMap{"p": []string{public}},
		LimitZero: true,
	}
	requests, err := connection.Subscribe(context, nostr.Filters{filter})
	if err != nil {
		return err
	}
	<-requests.EndOfStoredEvents
	signer := nip46.NewStaticKeySigner(secret)
	answer := func() {
		for event := range requests.Events {
			_, _, response, err := signer.HandleRequest(context, event)
			if err == nil {
				// Publish waits for the relay's OK, for which an answer must not wait.
				go connection.Publish(context, response)
			} else {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
	for range runtime.NumCPU() {
		go answer()
	}
	link := fmt.Sprintf("bunker://%s?relay=%s", public, url.QueryEscape(*address))
	if err := announce(fields{"bunker": link}); err != nil {
		return err
	}
	return untilInputEnds(nil)
}
