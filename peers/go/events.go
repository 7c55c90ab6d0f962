package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mailru/easyjson"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"
	"github.com/nbd-wtf/go-nostr/nip46"
)

// draft is an event of kind 1 that is not signed.
func draft(content string) nostr.Event {
	return nostr.Event{
		CreatedAt: nostr.Now(), Kind: nostr.KindTextNote, Tags: nostr.Tags{}, Content: content,
	}
}

// verified returns an error unless the id and the signature are those of the event.
func verified(event nostr.Event) error {
	if !event.CheckID() {
		return errors.New("the id is not that of the event")
	}
	valid, err := event.CheckSignature()
	if err == nil && !valid {
		err = errors.New("the signature is not that of the event")
	}
	return err
}

func events(wanted task) (job, error) {
	author, err := newKeyPair()
	if err != nil {
		return job{}, err
	}
	sign := func(event nostr.Event) (nostr.Event, error) {
		err := event.Sign(author.secret)
		return event, err
	}
	drafts := make([]nostr.Event, 0, len(wanted.texts))
	for _, text := range wanted.texts {
		drafts = append(drafts, draft(text))
	}
	proof := func(event nostr.Event) (checked, error) {
		content, later, other := event, event, event
		content.Content += "."
		later.CreatedAt++
		other.PubKey = nip44Generator
		var refused error = errors.New("all are")
		for _, event := range []nostr.Event{content, later, other} {
			if verified(event) == nil {
				refused = nil
			}
		}
		same := verified(event) == nil && event.Content == wanted.texts[0]
		return checked{
			roundTrip: same, tamperRefused: refuses(refused), sealedBytes: len(event.String()),
		}, nil
	}
	if wanted.name == "sign" {
		return newJob(drafts, sign, func(_, event nostr.Event) (checked, error) {
			return proof(event)
		})
	}
	signed, err := each(drafts, sign)
	if err != nil {
		return job{}, err
	}
	verify := func(event nostr.Event) (nostr.Event, error) { return event, verified(event) }
	return newJob(signed, verify, func(event, _ nostr.Event) (checked, error) {
		return proof(event)
	})
}

// nip44Generator is the public key of the secret key 1.
const nip44Generator = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

// roles are the keys of flow: those of the client, and of the signer, who is the user as well, because
// go-nostr's signer has one key for both.
type roles struct{ client, signer keyPair }

func flow(wanted task) (job, error) {
	client, signer, err := twoKeyPairs()
	if err != nil {
		return job{}, err
	}
	keys := roles{client, signer}
	requests, err := each(wanted.texts, keys.request)
	if err != nil {
		return job{}, err
	}
	kept := nip46.NewStaticKeySigner(signer.secret)
	answer := func(request string) (string, error) {
		if wanted.cached {
			return answered(&kept, request)
		}
		// A signer keeps the keys of the conversations that it has had.
		fresh := nip46.NewStaticKeySigner(signer.secret)
		return answered(&fresh, request)
	}
	return newJob(requests, answer, func(request, response string) (checked, error) {
		event, err := keys.accepted(response)
		if err != nil {
			return checked{}, err
		}
		_, refused := answer(changed(request))
		same := event.Content == wanted.texts[0] && event.PubKey == signer.public
		return checked{
			roundTrip: same, tamperRefused: refuses(refused), sealedBytes: len(response),
		}, nil
	})
}

// request is a request to sign an event, as the client sends it.
func (r roles) request(content string) (string, error) {
	unsigned := draft(content)
	unsigned.PubKey = r.signer.public
	request := nip46.Request{ID: "1", Method: "sign_event", Params: []string{unsigned.String()}}
	key, err := nip44.GenerateConversationKey(r.signer.public, r.client.secret)
	if err != nil {
		return "", err
	}
	sealed, err := nip44.Encrypt(request.String(), key)
	if err != nil {
		return "", err
	}
	event := nostr.Event{
		CreatedAt: nostr.Now(), Kind: nostr.KindNostrConnect, Content: sealed,
		Tags: nostr.Tags{{"p", r.signer.public}},
	}
	err = event.Sign(r.client.secret)
	return event.String(), err
}

// answered is the response to a request, from JSON to JSON.
func answered(signer *nip46.StaticKeySigner, request string) (string, error) {
	var event nostr.Event
	if err := easyjson.Unmarshal([]byte(request), &event); err != nil {
		return "", err
	}
	// The signer itself leaves that to the caller that received the event.
	if err := verified(event); err != nil {
		return "", err
	}
	_, response, responding, err := signer.HandleRequest(context.Background(), &event)
	if err == nil && response.Error != "" {
		err = errors.New(response.Error)
	}
	if err != nil {
		return "", err
	}
	text, err := easyjson.Marshal(responding)
	return string(text), err
}

// accepted is the event that the client finds in a response.
func (r roles) accepted(response string) (signed nostr.Event, err error) {
	var event nostr.Event
	if err := easyjson.Unmarshal([]byte(response), &event); err != nil {
		return signed, err
	}
	if err := verified(event); err != nil {
		return signed, err
	}
	if event.PubKey != r.signer.public || event.Tags.FindWithValue("p", r.client.public) == nil {
		return signed, errors.New("not a response of this signer to this client")
	}
	key, err := nip44.GenerateConversationKey(r.signer.public, r.client.secret)
	if err != nil {
		return signed, err
	}
	text, err := nip44.Decrypt(event.Content, key)
	if err != nil {
		return signed, err
	}
	var message nip46.Response
	if err := json.Unmarshal([]byte(text), &message); err != nil {
		return signed, err
	}
	if err := easyjson.Unmarshal([]byte(message.Result), &signed); err != nil {
		return signed, err
	}
	return signed, verified(signed)
}
