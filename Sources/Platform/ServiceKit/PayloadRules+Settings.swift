// SPDX-License-Identifier: Apache-2.0
public import Settings

extension CommonSettings {
  /// What becomes of payloads with mistakes that devices ignore.
  public static let payloadRules = SettingKey<String>.choice(
    "payload-rules", of: ["warn", refusePayloads], default: "warn",
    "What becomes of a payload with a mistake that APNs accepts and devices ignore, such as thread_id: warn names it in"
      + " the API's answer and in receipts and counts it, refuse refuses the request. docs/payloads.md has the rules."
  )

  /// The word that refuses them.
  public static let refusePayloads = "refuse"
}
