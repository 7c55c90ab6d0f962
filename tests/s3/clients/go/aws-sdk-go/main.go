// aws-sdk-go-v2 as a program: one operation a run. The contract is in ../../../clients.py.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

var bucket = aws.String(os.Getenv("S3_BUCKET"))

func main() {
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(os.Getenv("S3_ENDPOINT")),
		Region:       "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("S3_ACCESS"), os.Getenv("S3_SECRET"), ""),
		UsePathStyle: true,
		Retryer:      aws.NopRetryer{},
	})
	if err := perform(context.Background(), client, os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func perform(ctx context.Context, client *s3.Client, operation string, inputs []string) error {
	key := aws.String(inputs[0])
	switch operation {
	case "put", "parts":
		file, err := os.Open(inputs[1])
		if err != nil {
			return err
		}
		defer file.Close()
		put := &s3.PutObjectInput{Bucket: bucket, Key: key, Body: file}
		if operation == "put" {
			_, err = client.PutObject(ctx, put)
		} else {
			inParts := func(it *manager.Uploader) { it.PartSize = 5 << 20 }
			_, err = manager.NewUploader(client, inParts).Upload(ctx, put)
		}
		return err
	case "get":
		return read(ctx, client, &s3.GetObjectInput{Bucket: bucket, Key: key}, inputs[1])
	case "range":
		bytes := aws.String(fmt.Sprintf("bytes=%s-%s", inputs[1], inputs[2]))
		return read(ctx, client, &s3.GetObjectInput{Bucket: bucket, Key: key, Range: bytes}, inputs[3])
	case "list":
		pages := s3.NewListObjectsV2Paginator(client,
			&s3.ListObjectsV2Input{Bucket: bucket, Prefix: key, MaxKeys: aws.Int32(3)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, it := range page.Contents {
				fmt.Printf("%d\t%s\n", *it.Size, *it.Key)
			}
		}
		return nil
	case "copy":
		from := aws.String(url.PathEscape(*bucket + "/" + inputs[0]))
		_, err := client.CopyObject(ctx,
			&s3.CopyObjectInput{Bucket: bucket, Key: aws.String(inputs[1]), CopySource: from})
		return err
	case "delete":
		_, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key})
		return err
	}
	return fmt.Errorf("unknown operation %s", operation)
}

func read(ctx context.Context, client *s3.Client, get *s3.GetObjectInput, path string) error {
	answer, err := client.GetObject(ctx, get)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
