package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// lineLimit is the longest line that is read, its end included.
const lineLimit = 1 << 20

// messageLimit is the longest message of a refusal, in characters.
const messageLimit = 200

// fields of a request or an answer.
type fields = map[string]any

// A refusal is an answer that is not ok. Its class is "protocol", "unsupported" or "failed".
type refusal struct{ class, message string }

func (r refusal) Error() string { return r.message }

func misunderstood(format string, arguments ...any) error {
	return refusal{"protocol", fmt.Sprintf(format, arguments...)}
}

func unsupported(format string, arguments ...any) error {
	return refusal{"unsupported", fmt.Sprintf(format, arguments...)}
}

// serve answers each line of input by one line of output. What follows the last line end is no line.
func serve(input io.Reader, output io.Writer, answer func([]byte) (fields, error)) error {
	reader := bufio.NewReaderSize(input, 1<<16)
	for {
		line, err := readLine(reader)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var answered fields
		if err == nil {
			answered, err = guarded(line, answer)
		}
		text, err := encoded(answered, err)
		if err != nil {
			return err
		}
		if _, err := output.Write(text); err != nil {
			return err
		}
	}
}

// guarded turns a panic into an answer.
func guarded(line []byte, answer func([]byte) (fields, error)) (answered fields, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	if !utf8.Valid(line) {
		return nil, misunderstood("the line is not UTF-8")
	}
	return answer(line)
}

// encoded is the line of an answer: with its fields, or with what err says.
func encoded(answered fields, err error) ([]byte, error) {
	if answered == nil {
		answered = fields{}
	}
	answered["ok"] = err == nil
	if err != nil {
		refused := refusal{class: "failed"}
		errors.As(err, &refused)
		answered = fields{"ok": false, "error": refused.class, "message": oneLine(err.Error())}
	}
	// Characters of HTML stay as they are.
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answered); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

func oneLine(message string) string {
	short := []rune(message)
	short = short[:min(len(short), messageLimit)]
	for at, character := range short {
		if character < ' ' {
			short[at] = ' '
		}
	}
	return string(short)
}

// readLine reads a line without its end. Of one that is too long nothing is kept.
func readLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	length := 0
	for {
		part, err := reader.ReadSlice('\n')
		length += len(part)
		if length <= lineLimit {
			line = append(line, part...)
		} else {
			line = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, io.EOF
		case length > lineLimit:
			return nil, misunderstood("the line is longer than 1 MiB")
		default:
			return line[:len(line)-1], nil
		}
	}
}
