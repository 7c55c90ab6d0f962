// Seals standard input as guided-traffic's s3-encryption-proxy does, with that program's own code.
// The sealed bytes are written to standard output, and the metadata of the object as JSON to a file.
//
//	s3ep aes|rsa KEYFILE gcm|ctr|ctr-hmac OBJECT-KEY METADATA-FILE
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"

	"github.com/guided-traffic/s3-encryption-proxy/internal/config"
	"github.com/guided-traffic/s3-encryption-proxy/internal/orchestration"
	"github.com/sirupsen/logrus"
)

func main() {
	if len(os.Args) != 6 {
		log.Fatal("s3ep aes|rsa KEYFILE gcm|ctr|ctr-hmac OBJECT-KEY METADATA-FILE")
	}
	kind, file, mode, key, out := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	logrus.SetOutput(io.Discard)
	secret, err := os.ReadFile(file)
	check(err)
	settings := map[string]any{"aes_key": strings.TrimSpace(string(secret))}
	if kind == "rsa" {
		public, err := exec.Command("openssl", "pkey", "-in", file, "-pubout").Output()
		check(err)
		settings = map[string]any{
			"private_key_pem": string(secret),
			"public_key_pem":  string(public),
		}
	}
	integrity := config.HMACVerificationOff
	if mode == "ctr-hmac" {
		integrity = config.HMACVerificationStrict
	}
	manager, err := orchestration.NewManager(&config.Config{
		Encryption: config.EncryptionConfig{
			EncryptionMethodAlias: "key",
			IntegrityVerification: integrity,
			Providers: []config.EncryptionProvider{
				{Alias: "key", Type: kind, Config: settings},
			},
		},
	})
	check(err)
	seal := manager.EncryptCTR
	if mode == "gcm" {
		seal = manager.EncryptGCM
	}
	content, err := io.ReadAll(os.Stdin)
	check(err)
	sealed, err := seal(context.Background(), bufio.NewReader(bytes.NewReader(content)), key)
	check(err)
	_, err = io.Copy(os.Stdout, sealed.EncryptedDataReader)
	check(err)
	metadata, err := json.Marshal(sealed.Metadata)
	check(err)
	check(os.WriteFile(out, metadata, 0o600))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
