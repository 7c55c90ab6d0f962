package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/mailru/easyjson"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip04"
	"github.com/nbd-wtf/go-nostr/nip44"
	"github.com/nbd-wtf/go-nostr/nip59"
)

// wish is a request of the mode interop, which peers/rust-nostr/README.md describes. Keys are in
// hexadecimal, events are the text of their JSON.
type wish struct {
	Op      string  `json:"op"`
	Secret  string  `json:"secret"`
	Public  string  `json:"public"`
	Text    *string `json:"text"`
	Payload string  `json:"payload"`
	Nonce   string  `json:"nonce"`
	Event   string  `json:"event"`
}

func interop(line []byte) (fields, error) {
	var asked wish
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, misunderstood("%v", err)
	}
	switch asked.Op {
	case "describe":
		const library = "github.com/nbd-wtf/go-nostr"
		return fields{
			"library": library, "version": versions(library)[library], "longest": longestSealed,
			"nonce": true,
		}, nil
	case "public_key":
		public, err := nostr.GetPublicKey(asked.Secret)
		return fields{"public": public}, err
	case "conversation_key":
		key, err := nip44.GenerateConversationKey(asked.Public, asked.Secret)
		return fields{"key": hex.EncodeToString(key[:])}, err
	case "encrypt", "nip04_encrypt":
		if asked.Text == nil {
			return nil, misunderstood("text is needed")
		}
		payload, err := asked.encrypted(*asked.Text)
		return fields{"payload": payload}, err
	case "decrypt", "nip04_decrypt":
		text, err := asked.decrypted()
		return fields{"text": text}, err
	case "sign":
		event, err := asked.parsed()
		if err == nil {
			err = event.Sign(asked.Secret)
		}
		return fields{"event": event.String()}, err
	case "verify":
		event, err := asked.parsed()
		return fields{"valid": err == nil && verified(event) == nil}, nil
	case "wrap":
		wrap, err := asked.wrapped()
		return fields{"event": wrap.String()}, err
	case "unwrap":
		rumor, err := asked.unwrapped()
		return fields{"sender": rumor.PubKey, "rumor": rumor.String()}, err
	default:
		return nil, misunderstood("there is no such op")
	}
}

func (w wish) encrypted(text string) (string, error) {
	if w.Op == "nip04_encrypt" {
		key, err := nip04.ComputeSharedSecret(w.Public, w.Secret)
		if err != nil {
			return "", err
		}
		return nip04.Encrypt(text, key)
	}
	key, err := nip44.GenerateConversationKey(w.Public, w.Secret)
	if err != nil {
		return "", err
	}
	if w.Nonce == "" {
		return nip44.Encrypt(text, key)
	}
	nonce, err := hex.DecodeString(w.Nonce)
	if err != nil {
		return "", err
	}
	return nip44.Encrypt(text, key, nip44.WithCustomNonce(nonce))
}

func (w wish) decrypted() (string, error) {
	if w.Op == "nip04_decrypt" {
		key, err := nip04.ComputeSharedSecret(w.Public, w.Secret)
		if err != nil {
			return "", err
		}
		return nip04.Decrypt(w.Payload, key)
	}
	key, err := nip44.GenerateConversationKey(w.Public, w.Secret)
	if err != nil {
		return "", err
	}
	return nip44.Decrypt(w.Payload, key)
}

// parsed is the event of the request, or the draft of one.
func (w wish) parsed() (event nostr.Event, err error) {
	err = easyjson.Unmarshal([]byte(w.Event), &event)
	return event, err
}

func (w wish) wrapped() (wrap nostr.Event, err error) {
	rumor, err := w.parsed()
	if err != nil {
		return wrap, err
	}
	if rumor.PubKey, err = nostr.GetPublicKey(w.Secret); err != nil {
		return wrap, err
	}
	rumor.ID = rumor.GetID()
	key, err := nip44.GenerateConversationKey(w.Public, w.Secret)
	if err != nil {
		return wrap, err
	}
	encrypt := func(text string) (string, error) { return nip44.Encrypt(text, key) }
	sign := func(event *nostr.Event) error { return event.Sign(w.Secret) }
	// The library makes a key for each wrap, so a failure is tried again.
	for range 1024 {
		if wrap, err = nip59.GiftWrap(rumor, w.Public, encrypt, sign, nil); err == nil {
			break
		}
	}
	return wrap, err
}

func (w wish) unwrapped() (rumor nostr.Event, err error) {
	wrap, err := w.parsed()
	if err != nil {
		return rumor, err
	}
	if wrap.Kind != nostr.KindGiftWrap {
		return rumor, errors.New("not a gift wrap")
	}
	return nip59.GiftUnwrap(wrap, func(other, payload string) (string, error) {
		key, err := nip44.GenerateConversationKey(other, w.Secret)
		if err != nil {
			return "", err
		}
		return nip44.Decrypt(payload, key)
	})
}
