package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// ask gives the answer of a peer to a line.
func ask(t *testing.T, answer func([]byte) (fields, error), line string) fields {
	t.Helper()
	var output bytes.Buffer
	if err := serve(strings.NewReader(line+"\n"), &output, answer); err != nil {
		t.Fatal(err)
	}
	var answered fields
	if err := json.Unmarshal(output.Bytes(), &answered); err != nil {
		t.Fatalf("%s: %v", output.String(), err)
	}
	return answered
}

func TestEverySubjectGoesThroughItsCases(t *testing.T) {
	const both, plain, kept = "go-nostr go-nostr-cached", "go-nostr", "go-nostr-cached"
	for _, it := range []struct{ name, params, have string }{
		{"aes_encrypt", `"bytes":1000`, plain},
		{"aes_decrypt", `"bytes":1000`, plain},
		{"nip04_encrypt", `"bytes":1000`, both},
		{"nip04_decrypt", `"bytes":1000`, both},
		{"nip44_encrypt", `"bytes":1000,"cached":0`, plain},
		{"nip44_decrypt", `"bytes":65535,"cached":0`, plain},
		{"nip44_encrypt", `"bytes":65535,"cached":1`, kept},
		{"nip44_decrypt", `"bytes":1,"cached":1`, kept},
		{"conversation_key", ``, plain},
		{"sign", ``, plain},
		{"sign", `"bytes":0`, plain},
		{"verify", `"bytes":100`, plain},
		{"flow", `"bytes":1000`, both},
	} {
		promises := !strings.HasPrefix(it.name, "aes") && !strings.HasPrefix(it.name, "nip04") &&
			it.name != "conversation_key"
		for _, subject := range subjects {
			at := fmt.Sprintf("%s %s {%s}", subject.name, it.name, it.params)
			answer := newPeer().answer
			prepared := ask(t, answer, fmt.Sprintf(
				`{"op":"prepare","subject":%q,"case":%q,"params":{%s},"inputs":3}`,
				subject.name, it.name, it.params))
			if !contains(it.have, subject.name) {
				if prepared["error"] != "unsupported" {
					t.Errorf("%s: %v", at, prepared)
				}
				continue
			}
			check := ask(t, answer, `{"op":"check","handle":1}`)
			var refused any
			if promises {
				refused = true
			}
			if check["round_trip"] != true || check["tamper_refused"] != refused {
				t.Errorf("%s: %v %v", at, prepared, check)
			}
			// More than there are inputs.
			run := ask(t, answer, `{"op":"run","handle":1,"iterations":4}`)
			wall, _ := run["wall_ns"].(float64)
			cpu, _ := run["cpu_ns"].(float64)
			if run["iterations"] != 4.0 || wall <= 0 || cpu <= 0 {
				t.Errorf("%s: %v", at, run)
			}
			if released := ask(t, answer, `{"op":"release","handle":1}`); released["ok"] != true {
				t.Errorf("%s: %v", at, released)
			}
			if gone := ask(t, answer, `{"op":"check","handle":1}`); gone["error"] != "protocol" {
				t.Errorf("%s: %v", at, gone)
			}
		}
	}
}

func contains(words, word string) bool {
	for _, found := range strings.Fields(words) {
		if found == word {
			return true
		}
	}
	return false
}

func TestOtherRequestsAreRefusedByClass(t *testing.T) {
	const prepare = `{"op":"prepare","subject":"go-nostr","inputs":1,"case":`
	for line, class := range map[string]string{
		`garbage`: "protocol",
		`[]`:      "protocol",
		``:        "protocol",
		"{\"op\":\"hello\",\"protocol\":1,\"\xff\":1}":                   "protocol",
		`{"op":"hello","protocol":2}`:                                    "protocol",
		`{"op":"hello"}`:                                                 "protocol",
		`{"op":"other"}`:                                                 "protocol",
		`{"op":"run","handle":1,"iterations":1}`:                         "protocol",
		prepare + `"sign","params":{"bytes":-1}}`:                        "protocol",
		prepare + `"sign","params":{"bytes":null}}`:                      "protocol",
		prepare + `"sign"}`:                                              "protocol",
		prepare + `"seal","params":{}}`:                                  "unsupported",
		prepare + `"sign","params":{"letter":1}}`:                        "unsupported",
		prepare + `"nip44_encrypt","params":{"bytes":1}}`:                "unsupported",
		prepare + `"nip44_encrypt","params":{"bytes":0,"cached":0}}`:     "unsupported",
		prepare + `"nip44_encrypt","params":{"bytes":1,"cached":2}}`:     "unsupported",
		prepare + `"nip44_encrypt","params":{"bytes":65536,"cached":0}}`: "unsupported",
		prepare + `"nip44_encrypt","params":{"bytes":1,"other":0}}`:      "unsupported",
		strings.Repeat(" ", lineLimit):                                   "protocol",
	} {
		if answer := ask(t, newPeer().answer, line); answer["error"] != class {
			t.Errorf("%.80s: %v", line, answer)
		}
	}
}

func TestWhatFollowsTheLastLineEndIsNotAnswered(t *testing.T) {
	var output bytes.Buffer
	if err := serve(strings.NewReader(`{"op":"hello","protocol":1}`), &output, newPeer().answer); err != nil {
		t.Fatal(err)
	}
	if output.Len() > 0 {
		t.Error(output.String())
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	answer := ask(t, func([]byte) (fields, error) { panic("out of\ncheese") }, "{}")
	if answer["error"] != "failed" || answer["message"] != "panic: out of cheese" {
		t.Error(answer)
	}
}

func TestInteropDoesWhatItIsAsked(t *testing.T) {
	request := func(op string, rest fields) fields {
		rest["op"] = op
		line, err := json.Marshal(rest)
		if err != nil {
			t.Fatal(err)
		}
		return ask(t, interop, string(line))
	}
	one, two := strings.Repeat("11", 32), strings.Repeat("22", 32)
	publicOne := request("public_key", fields{"secret": one})["public"]
	publicTwo := request("public_key", fields{"secret": two})["public"]
	for encrypt, decrypt := range map[string]string{
		"encrypt": "decrypt", "nip04_encrypt": "nip04_decrypt",
	} {
		text := strings.Repeat("ä\x00\x1f\"<", 10_000)
		sealed := request(encrypt, fields{"secret": one, "public": publicTwo, "text": text})
		opened := request(decrypt, fields{
			"secret": two, "public": publicOne, "payload": sealed["payload"],
		})
		if opened["text"] != text {
			t.Errorf("%s: %v", encrypt, opened["message"])
		}
	}
	long := request("encrypt", fields{
		"secret": one, "public": publicTwo, "text": strings.Repeat("a", longestSealed+1),
	})
	if long["error"] != "failed" {
		t.Errorf("%v", long)
	}
	const draft = `{"kind":1,"created_at":7,"tags":[["t","é"]],"content":"a\nb<"}`
	event := request("sign", fields{"secret": one, "event": draft})["event"].(string)
	other := strings.Replace(event, `"created_at":7`, `"created_at":8`, 1)
	for event, valid := range map[string]bool{event: true, other: false, "{}": false} {
		if found := request("verify", fields{"event": event}); found["valid"] != valid {
			t.Errorf("%s: %v", event, found)
		}
	}
	// Keys with a first byte of 0 are among them.
	for range 600 {
		wrap := request("wrap", fields{"secret": one, "public": publicTwo, "event": draft})
		gift := request("unwrap", fields{"secret": two, "event": wrap["event"]})
		rumor, _ := gift["rumor"].(string)
		if gift["sender"] != publicOne || !strings.Contains(rumor, `"tags":[["t","é"]]`) {
			t.Fatalf("%v %v", wrap, gift)
		}
	}
}
