// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The log events of what every program does: its start and end, its place in a group, its files and its Kafka.
public enum ServiceKitLog: String, LogTable {
  case brokerDelays = "a broker delays this process: a quota is used up"
  case noBrokerDelays = "no broker delays this process any more"
  case openTransaction = "waiting for an open transaction of another producer"
  case transactionEnded = "the open transaction of another producer has ended"
  case oldLibrary = "this librdkafka cannot log in to newer brokers in this way"
  case connected = "connected to Kafka"
  case noKafkaBroker =
    "the server that answers is no Kafka broker that librdkafka can read; waiting: check the port of --kafka, and kafka.security.protocol where the broker has TLS"
  case noBrokerAnswers =
    "no Kafka broker answers; waiting: check that it runs and that --kafka names it"
  case crashesNoted = "earlier crashes were noted"
  case noCrashNotes =
    "cannot keep crash notes; a record that crashes this process will crash it again after each start. Name a writable file with --crash-notes"
  case databaseNotOpened = "cannot open the database; retrying"
  case databaseMigrates = "the database is brought up to date"
  case databaseExposed = "the database is open to others"
  case commitsRefused = "Kafka refuses commits; retrying"
  case commitsAccepted = "Kafka accepts commits again"
  case commitUnanswered = "the group coordinator did not answer a commit; retrying"
  case mapsShortened = "the brokers store no offset map of this length; committing shorter ones"
  case notCommitted = "cannot commit; retrying"
  case commitRefused = "commit refused; retrying"
  case lastOffsetsLost = "last offsets not committed"
  case errorEnded = "Kafka no longer reports an error"
  case partitionsRevoked = "partitions revoked"
  case nameTaken = "the broker says that another process has this member's name"
  case placeLost = "stopping: this member lost its place in the group"
  case notJoined = "cannot join the consumer group; retrying"
  case kafkaError = "Kafka reported an error"
  case partitionsGivenBack = "partitions given back"
  case rejoining = "joining the group again"
  case notRejoined = "cannot join the group again; retrying"
  case offsetsNotRead = "cannot read the committed offsets; retrying"
  case partitionsNotStarted = "cannot start the partitions; retrying"
  case partitionsAssigned = "partitions assigned"
  case assignedPartitions = "assigned partitions"
  case stoppingFast = "stopping without waiting: second stop signal"
  case stopping = "stopping: finishing what is in flight; a second signal does not wait"
  case exiting = "exiting at once; uncommitted records are processed again"
  case counters
  case topicExistsAgain = "the topic exists again"
  case partitionsAdded =
    "partitions were added: keys that moved lose their order, and repeats of their earlier ids are sent again; restart to divide memory among all partitions"
  case partitionsAddedToTable =
    "partitions were added to a topic that must keep its number of them"
  case topicRecreatedSmaller =
    "the topic was recreated with fewer partitions, and its records are gone; add the missing partitions"
  case topicGone = "the topic no longer exists; recreate it with martlet topics create"
  case recordsRefused = "Kafka refuses records; retrying"
  case recordsAccepted = "Kafka accepts records again"
  case recordsUnacknowledged = "Kafka does not acknowledge records; retrying"
  case recordsAcknowledged = "Kafka acknowledges records again"
  case logEndsEarly = "log truncated or topic recreated: it ends before the committed offset"
  case logTruncated = "log truncated or topic recreated; reading from its start"
  case recordsLost = "records were removed by retention before they were read: they are lost"
  case groupBegins = "the group begins at the first records"
  case offsetsMissing = "group offsets missing or reset; reading from the first records"
  case rightMissing = "missing right on Kafka; retrying until it is granted"
  case rightGranted = "a right on Kafka was granted"
  case recordCrashes = "this record was being processed in two crashes; not processed again"
  case entryCrashes =
    "the database's entry of this record was being processed in two crashes; not processed again"
  case cannotGoOn = "stopping: the service cannot go on"
  case ready
  case variableIgnored = "a variable of the environment is ignored"
  case settingsExposed = "the settings file has a password and is open to others"
  case settings = "settings that differ from their defaults"
  case statusPages = "status pages"
  case topicDiffers = "topic differs from what martlet topics create sets"

  public var level: LogLevel {
    switch self {
    case .placeLost, .notJoined, .partitionsAddedToTable, .topicRecreatedSmaller, .topicGone,
      .recordsRefused, .recordsUnacknowledged, .logEndsEarly, .logTruncated, .recordsLost,
      .offsetsMissing, .rightMissing, .recordCrashes, .entryCrashes, .cannotGoOn:
      .error
    case .brokerDelays, .openTransaction, .oldLibrary, .noKafkaBroker, .noBrokerAnswers,
      .crashesNoted, .noCrashNotes, .databaseNotOpened, .databaseExposed, .commitsRefused,
      .commitUnanswered, .mapsShortened, .notCommitted, .lastOffsetsLost, .nameTaken, .kafkaError,
      .notRejoined, .offsetsNotRead, .partitionsNotStarted, .stoppingFast, .exiting,
      .partitionsAdded, .variableIgnored, .settingsExposed, .topicDiffers:
      .warning
    case .noBrokerDelays, .transactionEnded, .connected, .databaseMigrates, .commitsAccepted,
      .errorEnded, .partitionsRevoked, .partitionsGivenBack, .rejoining, .partitionsAssigned,
      .stopping, .counters, .topicExistsAgain, .recordsAccepted, .recordsAcknowledged, .groupBegins,
      .rightGranted, .ready, .statusPages:
      .info
    case .commitRefused, .assignedPartitions, .settings: .debug
    }
  }
}
