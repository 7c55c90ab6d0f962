package main

import (
	"crypto/rand"
	"runtime"
	"strings"
)

const (
	// longest text of cases without a shorter one, in bytes.
	longest = 1 << 20
	// longestSealed is the longest text that go-nostr's NIP-44 has: it does not write the lengths of
	// 65,536 and more that the specification has since 2026.
	longestSealed = 65_535
	// longestContent of flow: twice encoded as JSON, it must stay below 65,536 bytes.
	longestContent = 60_000
	// usualContent is the length that sign and verify have without the parameter.
	usualContent = 100
	// memoryLimit is the total length of all texts of a case.
	memoryLimit = 1 << 28
)

// A subject is an implementation that is measured.
type subject struct {
	name, about, settings string
	modules               []string
	// properties are those of docs/spec/bench-peer.md; nil for those of Nostr's encryption.
	properties []string
	cached     bool
}

var subjects = []subject{
	{
		name: "go-nostr",
		about: "go-nostr, its functions that take keys: each message derives its key anew; the curve " +
			"is btcec, in Go",
		settings: "https://pkg.go.dev/github.com/nbd-wtf/go-nostr@v0.52.3/nip44",
		modules:  []string{"github.com/nbd-wtf/go-nostr", "github.com/btcsuite/btcd/btcec/v2"},
	},
	{
		name:     "go-nostr-cached",
		about:    "go-nostr under kept keys of a conversation, as its own signer keeps them",
		settings: "https://pkg.go.dev/github.com/nbd-wtf/go-nostr@v0.52.3/nip46",
		modules:  []string{"github.com/nbd-wtf/go-nostr", "github.com/btcsuite/btcd/btcec/v2"},
		cached:   true,
	},
}

// A task is a case that is asked for, with its texts: different random ASCII texts of one length.
type task struct {
	name   string
	cached bool
	texts  []string
}

// prepare makes keys and inputs of a case.
func prepare(name, caseName string, params map[string]number, inputs number) (job, error) {
	for _, one := range sealers {
		if one.name == name {
			return one.prepareEnvelope(caseName, params, inputs)
		}
	}
	for _, subject := range subjects {
		if subject.name != name {
			continue
		}
		wanted, err := parse(caseName, params, inputs)
		if err != nil {
			return job{}, err
		}
		sealing := strings.HasPrefix(caseName, "nip44_")
		if sealing && wanted.cached != subject.cached {
			return job{}, unsupported("cached is not %v in this subject", wanted.cached)
		}
		// Cases that do not depend on cached keys are measured once.
		keeping := sealing || strings.HasPrefix(caseName, "nip04_") || caseName == "flow"
		if subject.cached && !keeping {
			return job{}, unsupported("no key is kept in the case %s", caseName)
		}
		wanted.cached = subject.cached
		return jobOf(wanted)
	}
	return job{}, unsupported("there is no subject %s", name)
}

func parse(name string, params map[string]number, inputs number) (task, error) {
	wanted := task{name: name}
	names, least, most := []string{"bytes"}, number(1), number(longest)
	switch name {
	case "aes_encrypt", "aes_decrypt", "nip04_encrypt", "nip04_decrypt":
	case "nip44_encrypt", "nip44_decrypt":
		names, most = []string{"bytes", "cached"}, longestSealed
	case "conversation_key":
		names = nil
	case "sign", "verify":
		least = 0
		if _, given := params["bytes"]; !given {
			names = nil
		}
	case "flow":
		least, most = 0, longestContent
	default:
		return wanted, unsupported("there is no case %s", name)
	}
	if len(params) != len(names) {
		return wanted, unsupported("this case has the parameters %v", names)
	}
	bytes := number(usualContent)
	for _, name := range names {
		value, given := params[name]
		switch {
		case !given:
			return wanted, unsupported("params lack %s", name)
		case name == "cached" && value <= 1:
			wanted.cached = value == 1
		case name == "bytes" && value >= least && value <= most:
			bytes = value
		default:
			return wanted, unsupported("%s is out of range", name)
		}
	}
	if inputs < 1 || inputs > memoryLimit/max(bytes, 1024) {
		return wanted, unsupported("inputs: at least 1, and 256 MiB of text at most")
	}
	for range inputs {
		text, err := someText(int(bytes))
		if err != nil {
			return wanted, err
		}
		wanted.texts = append(wanted.texts, text)
	}
	return wanted, nil
}

// someText is random text of letters, digits, blanks and full stops.
func someText(bytes int) (string, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ."
	random := make([]byte, bytes)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	for at, byte := range random {
		random[at] = alphabet[byte%64]
	}
	return string(random), nil
}

// newJob does work with each input; check gets the first one and its result.
func newJob[I, O any](
	inputs []I, work func(I) (O, error), check func(I, O) (checked, error),
) (job, error) {
	return job{
		inputs: len(inputs),
		step: func(input int) error {
			result, err := work(inputs[input])
			runtime.KeepAlive(result)
			return err
		},
		check: func() (checked, error) {
			result, err := work(inputs[0])
			if err != nil {
				return checked{}, err
			}
			return check(inputs[0], result)
		},
	}, nil
}

// each applies work to all inputs.
func each[I, O any](inputs []I, work func(I) (O, error)) ([]O, error) {
	results := make([]O, 0, len(inputs))
	for _, input := range inputs {
		result, err := work(input)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// refuses says, as an answer to check, whether a changed input was refused.
func refuses(err error) *bool {
	refused := err != nil
	return &refused
}

// changed is a payload or event with another character in its middle.
func changed(sealed string) string {
	bytes := []byte(sealed)
	middle := len(bytes) / 2
	if bytes[middle] == 'A' {
		bytes[middle] = 'B'
	} else {
		bytes[middle] = 'A'
	}
	return string(bytes)
}
