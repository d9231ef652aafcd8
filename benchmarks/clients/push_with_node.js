// SPDX-License-Identifier: Apache-2.0
// Sends COUNT notifications with node's http2, STREAMS at a time, and fails unless all are answered 200.
//
//     node push_with_node.js PORT ROOTS COUNT STREAMS BEARER TOPIC TOKEN BODY
"use strict";
const crypto = require("crypto");
const fs = require("fs");
const http2 = require("http2");

const [port, roots, count, streams, bearer, topic, token, bodyFile] = process.argv.slice(2);
const body = fs.readFileSync(bodyFile);
const session = http2.connect(`https://localhost:${port}`, { ca: fs.readFileSync(roots) });
let begun = 0;
let ended = 0;

function fail(text) {
  console.error(text);
  process.exit(1);
}

function next() {
  if (begun >= Number(count)) return;
  begun += 1;
  const stream = session.request({
    ":method": "POST",
    ":path": `/3/device/${token}`,
    authorization: `bearer ${bearer}`,
    "apns-topic": topic,
    "apns-push-type": "alert",
    "apns-priority": "10",
    "apns-id": crypto.randomUUID(),
  });
  stream.on("response", (headers) => {
    if (headers[":status"] !== 200) fail(`status ${headers[":status"]}`);
  });
  stream.on("error", (error) => fail(error.message));
  stream.on("data", () => {});
  stream.on("close", () => {
    ended += 1;
    if (ended === Number(count)) session.close();
    else next();
  });
  stream.end(body);
}

session.on("error", (error) => fail(error.message));
session.on("remoteSettings", () => {
  if (begun === 0) for (let i = 0; i < Number(streams); i += 1) next();
});
