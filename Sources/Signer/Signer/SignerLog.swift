// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum SignerLog: String, LogTable {
  case standingBy = "standing by: another signer mints"
  case minting = "this signer mints now"
  case recordsWithdrawn = "unacknowledged records withdrawn from the producer"
  case tokenKeyReloaded = "token key reloaded"
  case tokenKeyInvalid = "invalid token key file; keeping the previous keys"
  case credentialsInvalid = "invalid credentials file; keeping the previous credentials"
  case credentialsReloaded = "credentials reloaded"
  case withdrawalPlanned = "removed credentials are withdrawn when their successors are published"
  case credentialsRefused =
    "credentials file refused: no key in it serves an app that is served now; keeping the previous credentials"
  case teamChanged = "apps have another team's key now; check that team_id is right"
  case credentialWithdrawn = "credential withdrawn"
  case credentialsLoaded = "credentials loaded"
  case tokensNotRead = "cannot read the provider tokens; retrying"
  case recordInvalid = "invalid provider token record; replacing it"
  case tokenFromFuture = "provider token dated in the future; check the signers' clocks (NTP)"
  case tokenOfStranger =
    "provider token not signed with this signer's key; replacing it. Only signers with the same credentials file may write to this topic"
  case credentialUnlisted = "credential not in the credentials file; withdrawing it"
  case tokenUnreadable = "cannot read a provider token"
  case recordsNotRead = "cannot read records; retrying"
  case requestInvalid = "invalid token request; ignored"
  case senderClockAhead =
    "a sender's clock is ahead of this signer's; check both (NTP): provider tokens carry the signer's time"
  case credentialUnknown = "a sender needs a credential that the credentials file does not list"
  case tokenRefused =
    "APNs refuses a provider token; check that key id, team id and key belong together, that the key was not revoked in Apple's developer portal, and this machine's clock"
  case notSigned = "cannot sign a provider token"
  case notEncrypted = "cannot encrypt a provider token"
  case notPublished = "Kafka refused a provider token"
  case published = "provider token published"

  public var level: LogLevel {
    switch self {
    case .tokenKeyInvalid, .credentialsInvalid, .credentialsRefused, .recordInvalid,
      .tokenFromFuture, .tokenOfStranger, .tokenUnreadable, .senderClockAhead, .tokenRefused,
      .notSigned, .notEncrypted, .notPublished:
      .error
    case .recordsWithdrawn, .teamChanged, .tokensNotRead, .credentialUnlisted, .recordsNotRead,
      .requestInvalid, .credentialUnknown:
      .warning
    case .standingBy, .minting, .tokenKeyReloaded, .credentialsReloaded, .withdrawalPlanned,
      .credentialWithdrawn, .credentialsLoaded, .published:
      .info
    }
  }
}
