package main

import (
	"bytes"
	"fmt"
	"testing"
)

func TestEverySealerGoesThroughItsCases(t *testing.T) {
	for _, subject := range sealers {
		for name, params := range map[string]string{
			"seal":      `"members":3,"bytes":1000`,
			"open":      `"members":3,"bytes":0`,
			"seal_many": `"members":2,"bytes":100,"count":5`,
			"open_many": `"members":2,"bytes":100,"count":5`,
		} {
			at := subject.name + " " + name
			answer := newPeer().answer
			prepared := ask(t, answer, fmt.Sprintf(
				`{"op":"prepare","subject":%q,"case":%q,"params":{%s},"inputs":3}`,
				subject.name, name, params))
			check := ask(t, answer, `{"op":"check","handle":1}`)
			if check["round_trip"] != true || check["tamper_refused"] != true {
				t.Errorf("%s: %v %v", at, prepared, check)
			}
			if size, _ := check["sealed_bytes"].(float64); size < 2*1120 {
				t.Errorf("%s: %v", at, check)
			}
			// More than there are inputs.
			if run := ask(t, answer, `{"op":"run","handle":1,"iterations":4}`); run["iterations"] != 4.0 {
				t.Errorf("%s: %v", at, run)
			}
		}
	}
}

func TestEveryMemberOpensAndNobodyElse(t *testing.T) {
	content := []byte("content for the group")
	for _, subject := range sealers {
		people, err := subject.group(4)
		if err != nil {
			t.Fatal(err)
		}
		outsiders, err := subject.group(4)
		if err != nil {
			t.Fatal(err)
		}
		envelope, err := people.seal(content)
		if err != nil {
			t.Fatal(err)
		}
		for member := range 4 {
			if opened, err := people.open(member, envelope); err != nil || !bytes.Equal(opened, content) {
				t.Errorf("%s: member %d: %v", subject.name, member, err)
			}
			if _, err := outsiders.open(member, envelope); err == nil {
				t.Errorf("%s: an outsider opens it", subject.name)
			}
		}
		for length := range len(envelope) {
			if _, err := people.open(1, envelope[:length]); err == nil {
				t.Errorf("%s: %d bytes open", subject.name, length)
			}
		}
	}
}

func TestSealersRefuseWhatTheyDoNotHave(t *testing.T) {
	for _, rest := range []string{
		`"case":"sign","params":{}`,
		`"case":"seal","params":{"members":1}`,
		`"case":"seal","params":{"members":0,"bytes":1}`,
		`"case":"seal","params":{"members":100000,"bytes":1}`,
		`"case":"seal","params":{"members":1,"bytes":1,"count":1}`,
		`"case":"open_many","params":{"members":1,"bytes":1,"count":0}`,
	} {
		for _, subject := range sealers {
			line := fmt.Sprintf(`{"op":"prepare","subject":%q,"inputs":1,%s}`, subject.name, rest)
			if answer := ask(t, newPeer().answer, line); answer["error"] != "unsupported" {
				t.Errorf("%s %s: %v", subject.name, rest, answer)
			}
		}
	}
}
