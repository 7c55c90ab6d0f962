// minio-go as a program: one operation a run. The contract is in ../../../clients.py.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

var bucket = os.Getenv("S3_BUCKET")

func main() {
	endpoint, secure := strings.CutPrefix(os.Getenv("S3_ENDPOINT"), "https://")
	client, err := minio.New(strings.TrimPrefix(endpoint, "http://"), &minio.Options{
		Creds:      credentials.NewStaticV4(os.Getenv("S3_ACCESS"), os.Getenv("S3_SECRET"), ""),
		Region:     "us-east-1",
		Secure:     secure,
		MaxRetries: 1,
		// Its own default for uploads; they go by the chunk, with checksums behind them.
		TrailingHeaders: true,
	})
	if err == nil {
		err = perform(context.Background(), client, os.Args[1], os.Args[2:])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func perform(ctx context.Context, client *minio.Client, operation string, inputs []string) error {
	key := inputs[0]
	switch operation {
	case "put", "parts":
		whole := minio.PutObjectOptions{DisableMultipart: operation == "put", PartSize: 5 << 20}
		_, err := client.FPutObject(ctx, bucket, key, inputs[1], whole)
		return err
	case "get":
		return read(ctx, client, key, minio.GetObjectOptions{}, inputs[1])
	case "range":
		first, err := strconv.ParseInt(inputs[1], 10, 64)
		if err != nil {
			return err
		}
		last, err := strconv.ParseInt(inputs[2], 10, 64)
		if err != nil {
			return err
		}
		some := minio.GetObjectOptions{}
		if err := some.SetRange(first, last); err != nil {
			return err
		}
		return read(ctx, client, key, some, inputs[3])
	case "list":
		pages := minio.ListObjectsOptions{Prefix: key, Recursive: true, MaxKeys: 3}
		for it := range client.ListObjects(ctx, bucket, pages) {
			if it.Err != nil {
				return it.Err
			}
			fmt.Printf("%d\t%s\n", it.Size, it.Key)
		}
		return nil
	case "copy":
		_, err := client.CopyObject(ctx,
			minio.CopyDestOptions{Bucket: bucket, Object: inputs[1]},
			minio.CopySrcOptions{Bucket: bucket, Object: key})
		return err
	case "delete":
		return client.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{})
	}
	return fmt.Errorf("unknown operation %s", operation)
}

func read(
	ctx context.Context, client *minio.Client, key string, get minio.GetObjectOptions, path string,
) error {
	object, err := client.GetObject(ctx, bucket, key, get)
	if err != nil {
		return err
	}
	defer object.Close()
	content, err := io.ReadAll(object)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
