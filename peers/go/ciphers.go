package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip04"
	"github.com/nbd-wtf/go-nostr/nip44"
)

// keyPair is a pair as go-nostr takes it: in hexadecimal.
type keyPair struct{ secret, public string }

// newKeyPair makes a pair from 32 random bytes.
func newKeyPair() (keyPair, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return keyPair{}, err
	}
	return keyPairOf(hex.EncodeToString(secret))
}

func keyPairOf(secret string) (keyPair, error) {
	public, err := nostr.GetPublicKey(secret)
	return keyPair{secret, public}, err
}

// twoKeyPairs are those of the side that is measured and of the other one.
func twoKeyPairs() (own, other keyPair, err error) {
	if own, err = newKeyPair(); err == nil {
		other, err = newKeyPair()
	}
	return own, other, err
}

func jobOf(wanted task) (job, error) {
	switch wanted.name {
	case "aes_encrypt", "aes_decrypt":
		return bareCipher(wanted)
	case "nip04_encrypt", "nip04_decrypt":
		return legacyCipher(wanted)
	case "nip44_encrypt", "nip44_decrypt":
		return messageCipher(wanted)
	case "conversation_key":
		return conversationKey(wanted)
	case "sign", "verify":
		return events(wanted)
	default:
		return flow(wanted)
	}
}

// A sealer encrypts as one side of a conversation and decrypts as the other side does.
type sealer struct {
	seal func(text string) (string, error)
	open func(sealed string) (string, error)
	// authenticated says whether changes are refused.
	authenticated bool
	// known says whether the subject gives what a vector of others does.
	known func() (bool, error)
}

// both is the job of a sealer, in the direction that is asked for.
func both(wanted task, decrypts bool, sides sealer) (job, error) {
	proof := func(text, sealed, opened string) (checked, error) {
		known, err := sides.known()
		result := checked{roundTrip: known && opened == text, sealedBytes: len(sealed)}
		if sides.authenticated {
			_, refused := sides.open(changed(sealed))
			result.tamperRefused = refuses(refused)
		}
		return result, err
	}
	if !decrypts {
		return newJob(wanted.texts, sides.seal, func(text, sealed string) (checked, error) {
			opened, err := sides.open(sealed)
			if err != nil {
				return checked{}, err
			}
			return proof(text, sealed, opened)
		})
	}
	sealed, err := each(wanted.texts, sides.seal)
	if err != nil {
		return job{}, err
	}
	return newJob(sealed, sides.open, func(sealed, opened string) (checked, error) {
		return proof(wanted.texts[0], sealed, opened)
	})
}

// CBC-AES256 of NIST SP 800-38A, F.2.5, the first block.
const (
	aesKey    = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
	aesIV     = "000102030405060708090a0b0c0d0e0f"
	aesText   = "6bc1bee22e409f96e93d7e117393172a"
	aesSealed = "f58c4c04d6e5f1ba779eabfb5f7bfbd6"
)

// bareCipher is AES as nip04 of go-nostr calls it, without Base64.
func bareCipher(wanted task) (job, error) {
	key, iv := make([]byte, 32), make([]byte, aes.BlockSize)
	if _, err := rand.Read(key); err != nil {
		return job{}, err
	}
	if _, err := rand.Read(iv); err != nil {
		return job{}, err
	}
	seal := func(text string) ([]byte, error) { return sealBlocks(key, iv, []byte(text)) }
	open := func(sealed []byte) ([]byte, error) { return openBlocks(key, iv, sealed) }
	proof := func(text string, sealed, opened []byte) (checked, error) {
		var vector [4][]byte
		for at, digits := range []string{aesKey, aesIV, aesText, aesSealed} {
			bytes, err := hex.DecodeString(digits)
			if err != nil {
				return checked{}, err
			}
			vector[at] = bytes
		}
		known, err := sealBlocks(vector[0], vector[1], vector[2])
		return checked{
			roundTrip:   string(opened) == text && bytes.HasPrefix(known, vector[3]),
			sealedBytes: len(sealed),
		}, err
	}
	if wanted.name == "aes_encrypt" {
		return newJob(wanted.texts, seal, func(text string, sealed []byte) (checked, error) {
			opened, err := open(sealed)
			if err != nil {
				return checked{}, err
			}
			return proof(text, sealed, opened)
		})
	}
	sealed, err := each(wanted.texts, seal)
	if err != nil {
		return job{}, err
	}
	return newJob(sealed, open, func(sealed, opened []byte) (checked, error) {
		return proof(wanted.texts[0], sealed, opened)
	})
}

func sealBlocks(key, iv, text []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	padding := aes.BlockSize - len(text)%aes.BlockSize
	padded := append(bytes.Clone(text), bytes.Repeat([]byte{byte(padding)}, padding)...)
	sealed := make([]byte, len(padded))
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(sealed, padded)
	return sealed, nil
}

func openBlocks(key, iv, sealed []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return nil, errors.New("not whole blocks")
	}
	padded := make([]byte, len(sealed))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(padded, sealed)
	padding := int(padded[len(padded)-1])
	if padding < 1 || padding > aes.BlockSize {
		return nil, errors.New("wrong padding")
	}
	return padded[:len(padded)-padding], nil
}

// A message that go-nostr wrote, from the tests of nostr-tools.
const (
	legacySender   = "91ba716fa9e7ea2fcbad360cf4f8e0d312f73984da63d90f524ad61a6a1e7dbe"
	legacyReceiver = "96f6fa197aa07477ab88f6981118466ae3a982faab8ad5db9d5426870c73d220"
	legacyPayload  = "zJxfaJ32rN5Dg1ODjOlEew==?iv=EV5bUjcc4OX2Km/zPp4ndQ=="
	legacyText     = "nanana"
)

func legacyCipher(wanted task) (job, error) {
	own, other, err := twoKeyPairs()
	if err != nil {
		return job{}, err
	}
	sending, receiving := own, other
	if wanted.name == "nip04_decrypt" {
		sending, receiving = other, own
	}
	sealing := func() ([]byte, error) { return nip04.ComputeSharedSecret(receiving.public, sending.secret) }
	opening := func() ([]byte, error) { return nip04.ComputeSharedSecret(sending.public, receiving.secret) }
	if wanted.cached {
		if sealing, err = kept(sealing); err == nil {
			opening, err = kept(opening)
		}
		if err != nil {
			return job{}, err
		}
	}
	return both(wanted, wanted.name == "nip04_decrypt", sealer{
		seal: func(text string) (string, error) {
			key, err := sealing()
			if err != nil {
				return "", err
			}
			return nip04.Encrypt(text, key)
		},
		open: func(sealed string) (string, error) {
			key, err := opening()
			if err != nil {
				return "", err
			}
			return nip04.Decrypt(sealed, key)
		},
		known: func() (bool, error) {
			sender, err := keyPairOf(legacySender)
			if err != nil {
				return false, err
			}
			key, err := nip04.ComputeSharedSecret(sender.public, legacyReceiver)
			if err != nil {
				return false, err
			}
			text, err := nip04.Decrypt(legacyPayload, key)
			return text == legacyText, err
		},
	})
}

// kept derives a key once.
func kept[K any](derive func() (K, error)) (func() (K, error), error) {
	key, err := derive()
	return func() (K, error) { return key, nil }, err
}

// The first vector of NIP-44: secret keys, conversation key, and "a" under the nonce 1.
const (
	secretOne   = "0000000000000000000000000000000000000000000000000000000000000001"
	secretTwo   = "0000000000000000000000000000000000000000000000000000000000000002"
	knownKey    = "c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d"
	knownText   = "a"
	knownSealed = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4Dwrc" +
		"NaCXlCWZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb"
)

func knownConversation() ([32]byte, error) {
	two, err := keyPairOf(secretTwo)
	if err != nil {
		return [32]byte{}, err
	}
	return nip44.GenerateConversationKey(two.public, secretOne)
}

func messageCipher(wanted task) (job, error) {
	own, other, err := twoKeyPairs()
	if err != nil {
		return job{}, err
	}
	sending, receiving := own, other
	if wanted.name == "nip44_decrypt" {
		sending, receiving = other, own
	}
	sealing := func() ([32]byte, error) {
		return nip44.GenerateConversationKey(receiving.public, sending.secret)
	}
	opening := func() ([32]byte, error) {
		return nip44.GenerateConversationKey(sending.public, receiving.secret)
	}
	if wanted.cached {
		if sealing, err = kept(sealing); err == nil {
			opening, err = kept(opening)
		}
		if err != nil {
			return job{}, err
		}
	}
	return both(wanted, wanted.name == "nip44_decrypt", sealer{
		seal: func(text string) (string, error) {
			key, err := sealing()
			if err != nil {
				return "", err
			}
			return nip44.Encrypt(text, key)
		},
		open: func(sealed string) (string, error) {
			key, err := opening()
			if err != nil {
				return "", err
			}
			return nip44.Decrypt(sealed, key)
		},
		authenticated: true,
		known: func() (bool, error) {
			key, err := knownConversation()
			if err != nil {
				return false, err
			}
			nonce := [32]byte{31: 1}
			sealed, err := nip44.Encrypt(knownText, key, nip44.WithCustomNonce(nonce[:]))
			return sealed == knownSealed, err
		},
	})
}

func conversationKey(wanted task) (job, error) {
	type sides struct{ own, other keyPair }
	pairs, err := each(wanted.texts, func(string) (sides, error) {
		own, other, err := twoKeyPairs()
		return sides{own, other}, err
	})
	if err != nil {
		return job{}, err
	}
	derive := func(it sides) ([32]byte, error) {
		return nip44.GenerateConversationKey(it.other.public, it.own.secret)
	}
	return newJob(pairs, derive, func(it sides, key [32]byte) (checked, error) {
		again, err := derive(sides{it.other, it.own})
		if err != nil {
			return checked{}, err
		}
		known, err := knownConversation()
		same := key == again && hex.EncodeToString(known[:]) == knownKey
		return checked{roundTrip: same}, err
	})
}
