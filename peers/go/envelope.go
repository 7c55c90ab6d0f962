package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"sync"

	"filippo.io/age"
	"filippo.io/hpke"
)

// A group is the members of an envelope with their keys. It is used from several goroutines.
type group interface {
	// seal makes one envelope with content for all members.
	seal(content []byte) ([]byte, error)
	// open gives the content, as the member at that position reads it.
	open(member int, envelope []byte) ([]byte, error)
}

// An envelopeSubject is a subject of the suite `envelope`.
type envelopeSubject struct {
	subject
	// mostMembers is the largest group: larger ones take so long that the harness may end the peer.
	mostMembers int
	group       func(members int) (group, error)
}

var sealers = []envelopeSubject{
	{
		subject: subject{
			name: "age-hybrid",
			about: "age file to hybrid recipients (X25519 with ML-KEM-768), opened with age.Decrypt; not " +
				"signed; many: on all cores",
			settings: "https://pkg.go.dev/filippo.io/age@v1.3.2",
			modules:  []string{"filippo.io/age", "filippo.io/hpke"},
			properties: []string{
				"confidential", "authenticated", "sender-hidden", "recipients-hidden", "committing",
				"post-quantum",
			},
		},
		mostMembers: 1000,
		group:       newAgeGroup,
	},
	{
		subject: subject{
			name: "hpke-xwing",
			about: "HPKE base mode (X-Wing, HKDF-SHA256, AES-256-GCM) once a member; not signed; many: " +
				"on all cores",
			settings: "https://pkg.go.dev/filippo.io/hpke@v0.4.0",
			modules:  []string{"filippo.io/hpke"},
			properties: []string{
				"confidential", "authenticated", "sender-hidden", "recipients-hidden", "post-quantum",
			},
		},
		mostMembers: 10_000,
		group:       newHpkeGroup,
	},
}

// mostContent is the longest content, in bytes.
const mostContent = 1 << 24

// prepareEnvelope makes a group and contents of a case. Input n of a case with a count is the set
// of the messages n to n + count - 1.
func (s envelopeSubject) prepareEnvelope(name string, params map[string]number, inputs number) (job, error) {
	many := name == "seal_many" || name == "open_many"
	names := []string{"members", "bytes"}
	if many {
		names = append(names, "count")
	} else if name != "seal" && name != "open" {
		return job{}, unsupported("there is no case %s", name)
	}
	if len(params) != len(names) {
		return job{}, unsupported("this case has the parameters %v", names)
	}
	most := map[string]number{
		"members": number(s.mostMembers), "bytes": mostContent, "count": 10_000,
	}
	for _, name := range names {
		value, given := params[name]
		if !given || value > most[name] || (value < 1 && name != "bytes") {
			return job{}, unsupported("%s must be from 1 to %d", name, most[name])
		}
	}
	members, count := int(params["members"]), 1
	if many {
		count = int(params["count"])
	}
	messages := int(inputs) + count - 1
	if inputs < 1 || messages > memoryLimit/max(int(params["bytes"]), 1024) {
		return job{}, unsupported("inputs: at least 1, and 256 MiB of content at most")
	}
	people, err := s.group(members)
	if err != nil {
		return job{}, err
	}
	contents := make([][]byte, messages)
	for at := range contents {
		contents[at] = make([]byte, params["bytes"])
		if _, err := rand.Read(contents[at]); err != nil {
			return job{}, err
		}
	}
	work := func(message int) error {
		envelope, err := people.seal(contents[message])
		runtime.KeepAlive(envelope)
		return err
	}
	if name == "open" || name == "open_many" {
		envelopes, err := each(contents, people.seal)
		if err != nil {
			return job{}, err
		}
		work = func(message int) error {
			content, err := people.open(members/2, envelopes[message])
			runtime.KeepAlive(content)
			return err
		}
	}
	return job{
		inputs: int(inputs),
		step:   func(input int) error { return shared(input, count, work) },
		check:  func() (checked, error) { return checkGroup(people, members, contents[0]) },
	}, nil
}

// shared does the work of the messages from first on, on all cores if they are several.
func shared(first, count int, work func(message int) error) error {
	workers := min(runtime.GOMAXPROCS(0), count)
	if workers == 1 {
		return work(first)
	}
	failures := make([]error, workers)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for message := worker; message < count && failures[worker] == nil; message += workers {
				failures[worker] = work(first + message)
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// checkGroup opens an envelope as the first, the last and the middle member, and a changed one as
// the middle member.
func checkGroup(people group, members int, content []byte) (checked, error) {
	envelope, err := people.seal(content)
	if err != nil {
		return checked{}, err
	}
	result := checked{roundTrip: true, sealedBytes: len(envelope)}
	for _, member := range []int{0, members - 1, members / 2} {
		opened, err := people.open(member, envelope)
		if err != nil {
			return checked{}, err
		}
		result.roundTrip = result.roundTrip && bytes.Equal(opened, content)
	}
	// The content stands at the end in both formats.
	changed := bytes.Clone(envelope)
	changed[len(changed)-1] ^= 1
	_, err = people.open(members/2, changed)
	result.tamperRefused = refuses(err)
	return result, nil
}

// ageGroup is members with hybrid identities of age.
type ageGroup struct {
	recipients []age.Recipient
	identities []age.Identity
}

func newAgeGroup(members int) (group, error) {
	var people ageGroup
	for range members {
		identity, err := age.GenerateHybridIdentity()
		if err != nil {
			return nil, err
		}
		people.identities = append(people.identities, identity)
		people.recipients = append(people.recipients, identity.Recipient())
	}
	return people, nil
}

func (g ageGroup) seal(content []byte) ([]byte, error) {
	var envelope bytes.Buffer
	writer, err := age.Encrypt(&envelope, g.recipients...)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	// The last block is written when the writer is closed.
	err = writer.Close()
	return envelope.Bytes(), err
}

func (g ageGroup) open(member int, envelope []byte) ([]byte, error) {
	reader, err := age.Decrypt(bytes.NewReader(envelope), g.identities[member])
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// hpkeGroup is members with keys of X-Wing. RFC 9180 leaves several recipients to the application:
// here a reader knows its position in the list, so that it opens one slot.
//
//	count (4) | count times: enc (1120), sealed content key (48) | content | tag (16)
type hpkeGroup struct {
	public  []hpke.PublicKey
	private []hpke.PrivateKey
}

// slotBytes are those of an encapsulation and a sealed content key.
const slotBytes = 1120 + 32 + 16

var hpkeInfo = []byte("endseal benchmark: content key")

func newHpkeGroup(members int) (group, error) {
	var people hpkeGroup
	for range members {
		key, err := hpke.MLKEM768X25519().GenerateKey()
		if err != nil {
			return nil, err
		}
		people.private = append(people.private, key)
		people.public = append(people.public, key.PublicKey())
	}
	return people, nil
}

func (g hpkeGroup) seal(content []byte) ([]byte, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	envelope := make([]byte, 4, 4+len(g.public)*slotBytes+len(content)+16)
	binary.LittleEndian.PutUint32(envelope, uint32(len(g.public)))
	for _, member := range g.public {
		slot, err := hpke.Seal(member, hpke.HKDFSHA256(), hpke.AES256GCM(), hpkeInfo, key)
		if err != nil {
			return nil, err
		}
		envelope = append(envelope, slot...)
	}
	aead, err := contentCipher(key)
	if err != nil {
		return nil, err
	}
	// The key is for one content, which is why its nonce can be zero.
	return aead.Seal(envelope, make([]byte, aead.NonceSize()), content, nil), nil
}

func (g hpkeGroup) open(member int, envelope []byte) ([]byte, error) {
	if len(envelope) < 4 {
		return nil, errors.New("the envelope is too short")
	}
	count := int(binary.LittleEndian.Uint32(envelope))
	rest := envelope[4:]
	if member >= count || len(rest)/slotBytes < count {
		return nil, errors.New("no slot for this member")
	}
	slot := rest[member*slotBytes:][:slotBytes]
	key, err := hpke.Open(g.private[member], hpke.HKDFSHA256(), hpke.AES256GCM(), hpkeInfo, slot)
	if err != nil {
		return nil, err
	}
	aead, err := contentCipher(key)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, make([]byte, aead.NonceSize()), rest[count*slotBytes:], nil)
}

func contentCipher(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
