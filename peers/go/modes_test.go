package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// asMode makes the test binary the program itself.
const asMode = "ENDSEAL_PEERS_GO_AS_MODE"

func TestMain(m *testing.M) {
	if os.Getenv(asMode) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A started mode: a line in gives a line out.
type started struct {
	input  io.WriteCloser
	output *bufio.Reader
}

func start(t *testing.T, arguments ...string) *started {
	t.Helper()
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), asMode+"=1")
	command.Stderr = os.Stderr
	input, inputErr := command.StdinPipe()
	output, outputErr := command.StdoutPipe()
	if inputErr != nil || outputErr != nil {
		t.Fatal(inputErr, outputErr)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("%v: %v", arguments, err)
		}
	})
	return &started{input, bufio.NewReader(output)}
}

func (s *started) line(t *testing.T) fields {
	t.Helper()
	text, err := s.output.ReadBytes('\n')
	var said fields
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil || said["ok"] != true {
		t.Fatalf("%s: %v", text, err)
	}
	return said
}

func (s *started) order(t *testing.T, text string) any {
	t.Helper()
	fmt.Fprintln(s.input, text)
	return s.line(t)["result"]
}

func TestClientAndLoadWorkWithTheBunkerOverTheRelay(t *testing.T) {
	relay := start(t, "relay").line(t)["relay"].(string)
	link := start(t, "bunker", "--relay", relay).line(t)["bunker"].(string)
	signer, relays, _, err := parts(link)
	if err != nil || len(relays) != 1 || relays[0] != relay {
		t.Fatal(link, err)
	}

	user := start(t, "client")
	user.order(t, fmt.Sprintf(`{"do":"connect","uri":%q,"key":%q,"seconds":20}`,
		link, nostr.GeneratePrivateKey()))
	if public := user.order(t, `{"do":"get_public_key","seconds":20}`); public != signer {
		t.Error(public)
	}
	signed, _ := json.Marshal(user.order(t,
		`{"do":"sign_event","event":{"kind":1,"created_at":9,"tags":[],"content":"ü"},"seconds":20}`))
	var event nostr.Event
	if err := json.Unmarshal(signed, &event); err != nil || event.Content != "ü" || verified(event) != nil {
		t.Error(string(signed), err)
	}
	fmt.Fprintln(user.input, `{"do":"call","method":"no_such_method","params":[],"seconds":1}`)
	if text, _ := user.output.ReadString('\n'); !strings.Contains(text, `"timeout"`) {
		t.Error("the library's signer answered an unknown method:", text)
	}

	busy := start(t, "load", "--bunker", link, "--in-flight", "4", "--count", "20")
	busy.line(t)
	fmt.Fprintln(busy.input)
	run := busy.line(t)
	if run["signatures"] != 20.0 || run["wall_ns"].(float64) < run["p99_ns"].(float64) {
		t.Error(run)
	}
}
