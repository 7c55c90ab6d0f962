package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	protocol    = 1
	handleLimit = 1024
)

// A number of the protocol: whole, not negative, below 2^53.
type number uint64

// UnmarshalJSON refuses what is no such number, null included.
func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil || value >= 1<<53 {
		return errors.New("numbers are from 0 to 2^53 - 1")
	}
	*n = number(value)
	return nil
}

type request struct {
	Op         string             `json:"op"`
	Protocol   *number            `json:"protocol"`
	Subject    *string            `json:"subject"`
	Case       *string            `json:"case"`
	Params     *map[string]number `json:"params"`
	Inputs     *number            `json:"inputs"`
	Handle     *number            `json:"handle"`
	Iterations *number            `json:"iterations"`
}

// A job is a case with its inputs: step does the work with one of them, check proves it.
type job struct {
	inputs int
	step   func(input int) error
	check  func() (checked, error)
}

// checked is what a check found. tamperRefused is nil if the case promises nothing about changes,
// sealedBytes is 0 if nothing is sent.
type checked struct {
	roundTrip     bool
	tamperRefused *bool
	sealedBytes   int
}

// ready is a job with the input that is next.
type ready struct {
	job
	next int
}

type peer struct {
	jobs map[number]*ready
	last number
}

func newPeer() *peer { return &peer{jobs: map[number]*ready{}} }

func (p *peer) answer(line []byte) (fields, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, misunderstood("%v", err)
	}
	switch asked.Op {
	case "hello":
		return hello(asked)
	case "prepare":
		return p.prepare(asked)
	case "check":
		return p.check(asked)
	case "run":
		return p.run(asked)
	case "release":
		_, err := p.job(asked)
		if err == nil {
			delete(p.jobs, *asked.Handle)
		}
		return nil, err
	default:
		return nil, misunderstood("there is no such op")
	}
}

func hello(asked request) (fields, error) {
	if asked.Protocol == nil || *asked.Protocol != protocol {
		return nil, misunderstood("this peer speaks protocol %d", protocol)
	}
	all := slices.Clone(subjects)
	for _, one := range sealers {
		all = append(all, one.subject)
	}
	var described []fields
	for _, subject := range all {
		properties := subject.properties
		if properties == nil {
			properties = []string{"confidential", "authenticated", "sender"}
		}
		described = append(described, fields{
			"subject":    subject.name,
			"about":      subject.about,
			"versions":   versions(subject.modules...),
			"settings":   subject.settings,
			"properties": properties,
		})
	}
	return fields{
		"protocol": protocol, "peer": "go", "runtime": runtime.Version(), "subjects": described,
	}, nil
}

// versions are those of modules that this program was built with.
func versions(modules ...string) map[string]string {
	found := map[string]string{}
	built, known := debug.ReadBuildInfo()
	for _, module := range modules {
		found[module] = "unknown"
		if !known {
			continue
		}
		for _, dependency := range built.Deps {
			if dependency.Path == module {
				found[module] = dependency.Version
			}
		}
	}
	return found
}

func (p *peer) prepare(asked request) (fields, error) {
	if asked.Subject == nil || asked.Case == nil || asked.Params == nil || asked.Inputs == nil {
		return nil, misunderstood("subject, case, params and inputs are needed")
	}
	if len(p.jobs) >= handleLimit {
		return nil, fmt.Errorf("%d handles are in use", handleLimit)
	}
	prepared, err := prepare(*asked.Subject, *asked.Case, *asked.Params, *asked.Inputs)
	if err != nil {
		return nil, err
	}
	p.last++
	p.jobs[p.last] = &ready{job: prepared}
	return fields{"handle": p.last}, nil
}

func (p *peer) job(asked request) (*ready, error) {
	if asked.Handle == nil || p.jobs[*asked.Handle] == nil {
		return nil, misunderstood("there is no such handle")
	}
	return p.jobs[*asked.Handle], nil
}

func (p *peer) check(asked request) (fields, error) {
	found, err := p.job(asked)
	if err != nil {
		return nil, err
	}
	result, err := found.check()
	if err != nil {
		return nil, err
	}
	answer := fields{
		"round_trip": result.roundTrip, "tamper_refused": result.tamperRefused, "sealed_bytes": nil,
	}
	if result.sealedBytes > 0 {
		answer["sealed_bytes"] = result.sealedBytes
	}
	return answer, nil
}

// run does the work of a job under the clock. CPU time is that of all threads, the collector included.
func (p *peer) run(asked request) (fields, error) {
	found, err := p.job(asked)
	if err != nil {
		return nil, err
	}
	if asked.Iterations == nil || *asked.Iterations < 1 {
		return nil, misunderstood("iterations must be at least 1")
	}
	cpu, err := processorTime()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for range *asked.Iterations {
		if err := found.step(found.next); err != nil {
			return nil, err
		}
		found.next = (found.next + 1) % found.inputs
	}
	wall := time.Since(start)
	end, err := processorTime()
	if err != nil {
		return nil, err
	}
	return fields{
		"iterations": *asked.Iterations, "wall_ns": wall.Nanoseconds(), "cpu_ns": end - cpu,
	}, nil
}

// processorTime of all threads of this process, in nanoseconds.
func processorTime() (int64, error) {
	var time unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &time)
	return time.Nano(), err
}
