// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The log events of a sender. It is declared here because the dispatcher's metrics name some of them.
public enum SenderLog: String, LogTable {
  case credentialDrains = "credential withdrawn; its connections drain"
  case connectionSilent = "a connection does not answer; closing it"
  case addressRefuses = "one address refuses a credential that another accepts; avoiding it"
  case strangeResponse =
    "response from something between this machine and APNs; the notification is sent again, and the connection closed if it recurs"
  case certificateExpired =
    "client certificate expired; its notifications wait until its file holds a renewed one"
  case certificateExpires =
    "client certificate expires soon; renew it, its file is read again when it changes"
  case certificatesReloaded = "client certificates and roots reloaded"
  case certificatesInvalid = "invalid client certificates or roots; keeping the previous ones"
  case tokenKeyInvalid = "invalid token key file; keeping the previous keys"
  case certificatesRefused =
    "client certificates refused: none of them serves an app that is served now; keeping the previous ones"
  case teamChanged = "apps have another team's certificate now"
  case windowsLate = "dedup windows not rebuilt in time; duplicates possible until they are"
  case credentialRefused = "APNs refuses the credential; its notifications wait"
  case appRefused = "APNs refuses an app with this credential; its notifications wait"
  case fewPartitions = "fewer partitions than loops"
  case devicesNotRead = "cannot read removed devices; continuing without them"
  case proxyUnresolved = "cannot resolve the proxy's name"
  case gatewayUnresolved = "cannot resolve the gateway's name"
  case connectionNotOpened = "cannot open a connection"
  case offsetMapInvalid = "commit metadata is not a valid offset map; ignored"
  case pausesNotRead = "cannot read pauses; continuing without them"
  case noControlsTopic =
    "no topic of pauses and paces; none has an effect until it is created and this process restarted"
  case pace
  case paceInvalid = "invalid control record of a pace; ignored"
  case paceNotKept = "a pace cannot be kept"
  case cancelled
  case paused
  case resumed
  case campaignsHeld = "too many campaigns on hold; the oldest hold ends"
  case targetUnknown = "control record with an unknown target; ignored"
  case pauseInvalid = "invalid control record of a pause; ignored"
  case laneUnknown = "control record names a lane that is not in --lanes; ignored"
  case tokenInvalid = "invalid provider token record; keeping the last good token"
  case tokenKeyReloaded = "token key reloaded"
  case tokenRemovedByStranger =
    "provider token removed from the topic, and not by a signer with the token key; keeping it"
  case tokenRemoved =
    "provider token removed from the topic, and not withdrawn by a signer; its notifications wait for the next one"
  case credentialWithdrawn = "credential withdrawn by a signer"
  case tokenUnreadable = "cannot use a provider token; keeping the last good one"
  case tokenFromFuture =
    "provider token dated in the future; not used before its time. Check the clocks of the signer and of this machine (NTP)"
  case noToken =
    "no valid provider token; notifications wait in Kafka until they expire. Is martlet-signer running, and do the clocks agree?"
  case everyTokenValid = "every credential has a provider token again"
  case kafkaError = "Kafka reported an error"
  case connected
  case goAway = "GOAWAY received"
  case connectionLost = "connection lost"
  case notConnected = "cannot connect"
  case connectionCutIdle = "connection cut while idle"
  case errorEnded = "an error of connections does not recur any more"
  case fewOpenFiles = "the limit of open files allows fewer connections than max-connections-total"
  case appleRootMissing =
    "Apple's root is not among the trusted authorities; connections to APNs will fail"
  case loopNotStarted = "cannot start a loop"
  case partitionNotDelivered = "Kafka does not deliver a partition"
  case leftUnderWay =
    "no time left for the answers of pushes of revoked partitions; their next owner sends them again"
  case windowsRebuilt = "apns-id windows rebuilt"

  public var level: LogLevel {
    switch self {
    case .strangeResponse, .certificateExpired, .certificatesInvalid, .tokenKeyInvalid,
      .certificatesRefused, .credentialRefused, .appRefused, .devicesNotRead, .connectionNotOpened,
      .pausesNotRead, .tokenUnreadable, .tokenFromFuture, .noToken, .loopNotStarted:
      .error
    case .connectionSilent, .addressRefuses, .certificateExpires, .teamChanged, .windowsLate,
      .fewPartitions, .proxyUnresolved, .gatewayUnresolved, .offsetMapInvalid, .noControlsTopic,
      .paceInvalid, .paceNotKept, .campaignsHeld, .targetUnknown, .pauseInvalid, .laneUnknown,
      .tokenInvalid, .tokenRemovedByStranger, .tokenRemoved, .kafkaError, .connectionLost,
      .notConnected, .fewOpenFiles, .appleRootMissing, .partitionNotDelivered, .leftUnderWay:
      .warning
    case .credentialDrains, .certificatesReloaded, .pace, .cancelled, .paused, .resumed,
      .tokenKeyReloaded, .credentialWithdrawn, .everyTokenValid, .goAway, .connectionCutIdle,
      .errorEnded, .windowsRebuilt:
      .info
    case .connected: .debug
    }
  }
}
