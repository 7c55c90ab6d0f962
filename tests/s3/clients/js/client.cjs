// aws-sdk-js v3 as a program: one operation a run. The contract is in ../../clients.py.
const fs = require("node:fs");
const s3 = require("@aws-sdk/client-s3");
const { Upload } = require("@aws-sdk/lib-storage");

const { S3_ENDPOINT, S3_ACCESS, S3_SECRET, S3_BUCKET: Bucket } = process.env;
const client = new s3.S3Client({
  endpoint: S3_ENDPOINT,
  region: "us-east-1",
  credentials: { accessKeyId: S3_ACCESS, secretAccessKey: S3_SECRET },
  forcePathStyle: true,
  maxAttempts: 1,
});
const ask = (Command, input) => client.send(new s3[`${Command}Command`]({ Bucket, ...input }));

async function read(Key, file, Range) {
  const { Body } = await ask("GetObject", { Key, Range });
  fs.writeFileSync(file, await Body.transformToByteArray());
}

const operations = {
  put: (Key, file) => ask("PutObject", { Key, Body: fs.readFileSync(file) }),
  parts: (Key, file) =>
    new Upload({
      client,
      partSize: 5 << 20,
      params: { Bucket, Key, Body: fs.createReadStream(file) },
    }).done(),
  get: read,
  range: (Key, first, last, file) => read(Key, file, `bytes=${first}-${last}`),
  async list(Prefix) {
    const pages = s3.paginateListObjectsV2({ client, pageSize: 3 }, { Bucket, Prefix });
    for await (const page of pages) {
      for (const { Key, Size } of page.Contents ?? []) console.log(`${Size}\t${Key}`);
    }
  },
  copy: (from, Key) => ask("CopyObject", { Key, CopySource: encodeURI(`${Bucket}/${from}`) }),
  delete: (Key) => ask("DeleteObject", { Key }),
};

const [operation, ...inputs] = process.argv.slice(2);
operations[operation](...inputs).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
