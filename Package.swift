// swift-tools-version: 6.2
import Glibc
import PackageDescription

// A flat is a folder of Sources: one process, its decisions and its program. The law, which the end of this file checks:
// a flat imports its own modules and those of Contract and Platform, never those of another flat.
//
//   Ingest  Sender  Signer  Feedback  API  Webhooks  Schedule  Operator  Demo  Simulator
//      │       │       │        │      │      │         │         │       │       │
//      └───────┴───────┴────────┴──────┴──┬───┴─────────┴─────────┴───────┴───────┘
//                                         ▼
//   Contract   what processes agree on: Apple's rules, topics, records and their codecs
//   Platform   what any process would need: Kafka, HTTP, TLS, databases, settings, telemetry; C
//
// Modules of `values` are decisions: no I/O, no clock, no unsafe pointer. Tests and benchmarks import what they like.

/// Every target: Swift 6 mode, warnings are errors.
let common: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  // A module at once, as in a release: a quarter faster from nothing, and no slower after a change.
  .unsafeFlags(
    ["-whole-module-optimization", "-num-threads", "2", "-disable-batch-mode"],
    .when(configuration: .debug)),
]

/// Values: also no unsafe pointer, checked by the compiler.
let pure: [SwiftSetting] = common + [.strictMemorySafety()]

/// All others. Each loop is a class that one thread owns, and asks a dozen of its properties for each notification. That
/// no two accesses overlap is checked by the debug build, in which every test runs; a release does not check it again.
let swift: [SwiftSetting] =
  common + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// `scripts/fuzz` asks for its program.
let isFuzzing = Context.environment["MARTLET_TEST_FUZZ"] != nil

/// Services, simulator and laboratory: in the fuzz program, where the parsers below them take the time, not optimized.
let outer: [SwiftSetting] =
  swift + (isFuzzing ? [.unsafeFlags(["-Onone"], .when(configuration: .release))] : [])

/// C and C++ of ours: the stack and the bounds of C++'s containers are checked everywhere, buffers whose size is known
/// in releases (glibc wants optimization for that, and sanitizers do it themselves).
let stackChecks = ["-fstack-protector-strong"]
let bufferChecks = ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"]
let hardenedC: [CSetting] = [
  .unsafeFlags(stackChecks), .unsafeFlags(bufferChecks, .when(configuration: .release)),
]
let hardenedCXX: [CXXSetting] = [
  .unsafeFlags(stackChecks + ["-D_GLIBCXX_ASSERTIONS"]),
  .unsafeFlags(bufferChecks, .when(configuration: .release)),
]

/// All symbols are bound at the start, and what they are bound by cannot be written after that. Position-independent
/// programs and a stack without code are the toolchain's default. `HardeningTests` reads all of it off the programs.
/// The linker is the toolchain's own: without a name it is Debian's, and the one of Debian 13 leaves `relro` out without
/// a word, because Swift's constants are in writable sections.
let hardenedLink: [LinkerSetting] = [
  .unsafeFlags([
    "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
  ])
]

/// The commit that `scripts/build` makes a release of; it recompiles one C file.
let commit = Context.environment["MARTLET_COMMIT"].map { [$0] } ?? []

func system(_ name: String, _ pkgConfig: String, _ debian: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/Platform/C/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([debian])])
}

/// Decisions and formats as values, in a flat. What other modules use is public: the compiler gets no name of the
/// package, because `@inlinable` does nothing in a type that is `package` (docs/decisions/006).
func values(_ flat: String, _ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(flat)/\(name)", packageAccess: false,
    swiftSettings: pure)
}

/// A module that does something: each type owns one handle on one thread.
func shell(
  _ flat: String, _ name: String, _ dependencies: [Target.Dependency],
  settings: [SwiftSetting] = swift
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(flat)/\(name)", packageAccess: false,
    swiftSettings: settings)
}

/// The shell of a process, with what all of them use.
func service(_ flat: String, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
  shell(
    flat, name, dependencies + ["ServiceKit", "Settings", "Telemetry", "Bytes"], settings: outer)
}

/// A program of a flat: parse, build, run.
func program(_ flat: String, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/\(flat)/\(name)",
    swiftSettings: outer, linkerSettings: hardenedLink)
}

/// A program that tests or measures the others, in a folder of `room`.
func trial(_ name: String, _ room: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "\(room)/\(name)", swiftSettings: outer,
    linkerSettings: hardenedLink)
}

func tests(
  _ room: String, _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(room)/\(name)Tests",
    exclude: exclude, swiftSettings: swift)
}

/// What the fuzz targets parse with.
let fuzzed: [Target.Dependency] = [
  "APNS", "Identity", "Contract", "ConsumerGroup", "DeviceTokens", "SenderDecisions", "Random",
  "Faults",
  "GatewayModel", "Schedule", "Settings", "Telemetry", "Bytes", "JSON", "Compatibility", "Records",
  "EventLoop", "HTTP1", "HTTP2", "HTTPServer", "TLS", "Kafka", "Signing", "ServiceKit", "Ingest",
  "Sender", "Signer", "Feedback", "WebhookDelivery", "Webhooks", "GatewaySimulator", "HTTP2Server",
  "CommandKit", "OperatorCommand", "LabCommand", "EmbeddedKafka", "BrokerCore", "TokenFiles",
  "PEMFiles",
  "Scheduler", "Store", "Credentials", "ScheduleDecisions", "SignerDecisions",
]

/// The fuzz targets: tests over the kept inputs, or (`scripts/fuzz` asks for it) a program around libFuzzer,
/// which no ordinary build can link.
let fuzz: Target =
  !isFuzzing
  ? .testTarget(
    name: "FuzzTests", dependencies: fuzzed, path: "Tests/Fuzz",
    exclude: ["Corpus", "Dictionaries", "Driver"], sources: ["Targets", "Regression"],
    swiftSettings: swift)
  : .executableTarget(
    name: "martlet-fuzz", dependencies: fuzzed, path: "Tests/Fuzz",
    exclude: ["Corpus", "Dictionaries", "Regression"], sources: ["Targets", "Driver"],
    swiftSettings: swift)

let package = Package(
  name: "martlet",
  targets: [
    // Contract: what processes agree on.
    values("Contract", "Identity"),
    values("Contract", "APNS", ["Identity"]),
    values("Contract", "Contract", ["APNS", "Identity"]),
    values("Contract", "Credentials", ["APNS", "Contract"]),
    values("Contract", "DeviceTokens", ["APNS", "Contract", "Identity"]),
    values("Contract", "Schedule", ["Contract", "Identity"]),
    // C++, because simdjson is: reads requests and payloads in one pass (its include/CSimdjson.h).
    .target(
      name: "CSimdjson", path: "Sources/Contract/CSimdjson",
      cxxSettings: [.unsafeFlags(["-O2"])] + hardenedCXX,
      linkerSettings: [.linkedLibrary("simdjson")]),
    shell("Contract", "JSON", ["Bytes", "CSimdjson", "Identity"]),
    shell(
      "Contract", "Records",
      ["Bytes", "JSON", "APNS", "Contract", "Identity", "Schedule", "Telemetry", "CSimdjson"]),

    // Platform: the only place where a C header is named,
    system("CRdKafka", "rdkafka", "librdkafka-dev"),
    system("CNghttp2", "libnghttp2", "libnghttp2-dev"),
    system("COpenSSL", "openssl", "libssl-dev"),
    system("CSQLite", "sqlite3", "libsqlite3-dev"),
    system("CPostgres", "libpq", "libpq-dev"),
    system("CZlib", "zlib", "zlib1g-dev"),
    system("CCurl", "libcurl", "libcurl4-openssl-dev"),
    .target(
      name: "CLinux", path: "Sources/Platform/C/CLinux",
      cSettings: [.define("_GNU_SOURCE")] + hardenedC),
    .target(
      name: "CBuild", path: "Sources/Platform/C/CBuild",
      cSettings: hardenedC + commit.map { .define("MARTLET_COMMIT", to: $0) }),
    // decisions that any process needs,
    values("Platform", "Random"),
    values("Platform", "Waiting"),
    values("Platform", "Settings"),
    values("Platform", "Telemetry"),
    values("Platform", "PEMFiles"),
    values("Platform", "HTTP1", ["Identity"]),
    values("Platform", "HTTP2Engine", ["Waiting"]),
    values("Platform", "ConsumerGroup", ["APNS"]),
    values("Platform", "Diagnosis", ["APNS", "Contract"]),
    // and shells.
    shell("Platform", "Bytes", ["CLinux"]),
    shell("Platform", "EventLoop", ["Bytes", "Random", "CLinux"]),
    shell("Platform", "TLS", ["PEMFiles", "Bytes", "COpenSSL"]),
    shell("Platform", "Signing", ["PEMFiles", "Bytes", "COpenSSL"]),
    shell(
      "Platform", "HTTP2",
      ["Bytes", "EventLoop", "TLS", "HTTP1", "HTTP2Engine", "Waiting", "CNghttp2"]),
    shell("Platform", "HTTPServer", ["Bytes", "EventLoop", "TLS", "HTTP1", "Identity", "CZlib"]),
    shell("Platform", "HTTPClient", ["CCurl", "HTTP1"]),
    shell("Platform", "Kafka", ["Contract", "EventLoop", "Telemetry", "CRdKafka", "CLinux"]),
    shell(
      "Platform", "Store",
      ["APNS", "Contract", "CSQLite", "CPostgres", "DeviceTokens", "Identity", "Schedule"]),
    shell(
      "Platform", "ServiceKit",
      [
        "Settings", "Telemetry", "Bytes", "EventLoop", "Kafka", "Records", "Signing", "APNS",
        "Contract", "ConsumerGroup", "JSON", "HTTPServer", "Diagnosis", "CBuild",
      ], settings: outer),
    service(
      "Platform", "CommandKit",
      ["Contract", "Diagnosis", "EventLoop", "JSON", "Kafka", "Signing"]),

    // The flats, in a push's way.
    values("Ingest", "IngestDecisions"),
    service(
      "Ingest", "Ingest",
      [
        "APNS", "Contract", "Diagnosis", "EventLoop", "Kafka", "Records", "ConsumerGroup",
        "DeviceTokens", "Identity", "IngestDecisions",
      ]),
    program("Ingest", "martlet-ingest", ["Ingest", "ServiceKit"]),

    values(
      "Sender", "SenderDecisions",
      [
        "Random", "ConsumerGroup", "DeviceTokens", "Contract", "Diagnosis", "APNS", "Credentials",
        "Waiting", "Telemetry",
      ]),
    service(
      "Sender", "Sender",
      [
        "APNS", "Contract", "Diagnosis", "EventLoop", "Kafka", "JSON", "Records", "TLS", "HTTP1",
        "HTTP2", "HTTP2Engine", "ConsumerGroup", "DeviceTokens", "SenderDecisions", "Credentials",
        "Schedule", "Waiting",
      ]),
    program("Sender", "martlet-sender", ["Sender", "ServiceKit"]),

    values("Signer", "SignerDecisions", ["Credentials"]),
    service(
      "Signer", "Signer",
      [
        "APNS", "Diagnosis", "Contract", "EventLoop", "Kafka", "JSON", "Credentials", "Records",
        "Signing", "SignerDecisions", "ConsumerGroup",
      ]),
    program("Signer", "martlet-signer", ["Signer", "ServiceKit"]),

    values("Feedback", "FeedbackDecisions", []),
    service(
      "Feedback", "Feedback",
      [
        "APNS", "Contract", "Diagnosis", "EventLoop", "FeedbackDecisions", "Kafka", "JSON",
        "Records", "Store", "DeviceTokens", "ConsumerGroup", "Waiting",
      ]),
    program("Feedback", "martlet-feedback", ["Feedback", "ServiceKit", "EventLoop"]),

    values(
      "Webhooks", "Webhooks", ["Identity", "Telemetry", "ConsumerGroup", "Waiting"]),
    service(
      "Webhooks", "WebhookDelivery",
      [
        "Webhooks", "APNS", "Contract", "Diagnosis", "EventLoop", "Identity", "Kafka", "JSON",
        "Records", "Signing", "HTTPClient", "TLS", "ConsumerGroup",
      ]),
    program("Webhooks", "martlet-webhooks", ["WebhookDelivery", "ServiceKit"]),

    values("Schedule", "ScheduleDecisions", ["Identity", "Schedule"]),
    service(
      "Schedule", "Scheduler",
      [
        "Schedule", "ScheduleDecisions", "APNS", "Contract", "DeviceTokens", "Diagnosis",
        "EventLoop", "Kafka", "Records", "Store", "ConsumerGroup", "Identity", "JSON", "Waiting",
      ]),
    program("Schedule", "martlet-scheduler", ["Scheduler", "ServiceKit"]),

    values("API", "Access", ["Identity"]),
    shell("API", "Compatibility", ["JSON", "APNS", "Identity"]),
    service(
      "API", "API",
      [
        "Access", "APNS", "Contract", "Diagnosis", "EventLoop", "HTTP1", "Kafka", "JSON", "Records",
        "Signing", "Store", "HTTPServer", "TLS", "Compatibility", "DeviceTokens", "Identity",
        "Schedule", "Waiting",
      ]),
    program("API", "martlet-api", ["API", "ServiceKit"]),

    values("Operator", "TokenFiles", ["APNS", "Contract"]),
    service(
      "Operator", "OperatorCommand",
      [
        "CommandKit", "APNS", "Contract", "Diagnosis", "EventLoop", "Kafka", "JSON", "Records",
        "HTTPClient", "HTTPServer", "Identity", "Credentials", "Schedule", "Store", "TLS",
        "TokenFiles", "DeviceTokens",
      ]),
    program("Operator", "martlet", ["OperatorCommand"]),

    // Demo: everything on one machine.
    values("Demo", "BrokerCore", ["Identity", "Random"]),
    shell("Demo", "Broker", ["BrokerCore", "Bytes", "EventLoop", "CLinux"], settings: outer),
    shell(
      "Demo", "EmbeddedKafka", ["Broker", "BrokerCore", "Contract", "Kafka"], settings: outer),
    shell(
      "Demo", "LabCommand",
      [
        "CommandKit", "EmbeddedKafka", "BrokerCore", "APNS", "Contract", "Random", "EventLoop",
        "Kafka", "JSON", "Records", "Signing", "Store", "HTTPClient", "HTTPServer", "ServiceKit",
        "Settings", "Telemetry", "Bytes",
      ], settings: outer),
    program("Demo", "martlet-lab", ["LabCommand"]),

    // Simulator: APNs as a server.
    values("Simulator", "GatewayModel", ["APNS", "Settings"]),
    values("Simulator", "Faults", ["APNS", "Random", "Settings"]),
    shell(
      "Simulator", "HTTP2Server",
      ["Bytes", "EventLoop", "TLS", "HTTP2", "HTTP2Engine", "CNghttp2"], settings: outer),
    shell(
      "Simulator", "GatewaySimulator",
      [
        "APNS", "GatewayModel", "Faults", "Random", "EventLoop", "JSON", "TLS", "HTTP2",
        "HTTP2Server", "HTTPServer", "Signing", "ServiceKit", "Settings", "Telemetry", "Bytes",
      ], settings: outer),
    program("Simulator", "apns-simulator", ["GatewaySimulator", "ServiceKit"]),

    // Tests: the suites that are programs, and the programs that measure.
    .target(
      name: "Simulation",
      dependencies: [
        "APNS", "Contract", "ConsumerGroup", "DeviceTokens", "SenderDecisions", "Identity",
        "Random",
        "Schedule", "Credentials", "FeedbackDecisions", "IngestDecisions", "ScheduleDecisions",
        "SignerDecisions",
      ],
      path: "Tests/Simulation/Simulation", swiftSettings: pure),
    trial("martlet-simulate", "Tests/Simulation", ["Simulation"]),
    .target(
      name: "ChaosSuite",
      dependencies: [
        "APNS", "Contract", "Random", "Bytes", "EventLoop", "Kafka", "JSON", "Records", "Store",
        "Settings", "Telemetry", "ServiceKit", "LabCommand", "HTTPClient", "ConsumerGroup",
        "Identity", "Schedule", "Feedback", "Scheduler",
      ],
      path: "Tests/Chaos/ChaosSuite", swiftSettings: outer),
    trial("martlet-chaos", "Tests/Chaos", ["ChaosSuite", "ServiceKit"]),
    trial(
      "http2-benchmark", "benchmarks/tools",
      ["EventLoop", "TLS", "HTTP2", "CLinux", "HTTP2Engine"]),
    trial(
      "store-benchmark", "benchmarks/tools",
      ["APNS", "Contract", "EventLoop", "Random", "Store", "DeviceTokens"]),
    trial(
      "benchmark-load", "benchmarks/tools",
      [
        "APNS", "Bytes", "EventLoop", "Kafka", "Contract", "Random", "Records", "ServiceKit",
        "Settings",
      ]),
    trial(
      "benchmark-topics", "benchmarks/tools",
      ["CommandKit", "Kafka", "Contract", "ServiceKit", "Settings"]),
    .target(
      name: "TestSupport",
      dependencies: [
        "CRdKafka", "EventLoop", "Kafka", "EmbeddedKafka", "BrokerCore", "Bytes", "Diagnosis",
        "ServiceKit", "Settings", "Telemetry",
      ],
      path: "Tests/Support/TestSupport", swiftSettings: swift),
    .target(
      name: "SystemTestSupport", dependencies: ["Bytes", "EventLoop", "Telemetry", "TestSupport"],
      path: "Tests/Support/SystemTestSupport", swiftSettings: swift),
    tests("Core", "Identity", ["Identity"]),
    tests("Core", "APNS", ["APNS", "Random"]),
    tests("Core", "Contract", ["Identity", "APNS", "Contract", "Random"]),
    tests(
      "Core", "ConsumerGroup",
      ["Random", "TestSupport", "ConsumerGroup", "APNS", "IngestDecisions"]),
    tests(
      "Core", "DeviceTokens", ["Random", "DeviceTokens", "Contract", "APNS", "FeedbackDecisions"]),
    tests(
      "Core", "SenderDecisions",
      [
        "Random", "TestSupport", "ConsumerGroup", "DeviceTokens", "SenderDecisions", "Contract",
        "APNS",
        "Credentials", "Diagnosis", "SignerDecisions", "Waiting",
      ]),
    tests(
      "Simulation", "Simulation",
      ["Random", "Simulation", "TestSupport", "SenderDecisions", "Credentials", "SignerDecisions"]),
    tests("Core", "Diagnosis", ["APNS", "Contract", "Diagnosis", "Waiting"]),
    tests("Core", "Settings", ["Settings"]),
    tests("Core", "Access", ["Identity", "Access", "Random"]),
    tests(
      "Core", "Schedule",
      ["Contract", "Identity", "Random", "Schedule", "ScheduleDecisions", "Waiting"]),
    tests("Core", "Webhooks", ["Identity", "Webhooks", "ConsumerGroup"]),
    tests("Core", "Telemetry", ["Telemetry"]),
    tests(
      "Core", "TokenFiles",
      ["Random", "TokenFiles", "SystemTestSupport", "TestSupport"], exclude: ["Python"]),
    tests("Core", "HTTP1", ["Identity", "HTTP1", "Random"]),
    tests("Core", "HTTP2Engine", ["HTTP2Engine", "Random", "Waiting"]),
    tests("IO", "EventLoop", ["Bytes", "EventLoop"]),
    tests("IO", "TLS", ["Bytes", "TLS", "Signing"]),
    tests(
      "IO", "HTTP2",
      [
        "Bytes", "EventLoop", "TLS", "HTTP2", "HTTP2Engine", "HTTP2Server", "Signing",
        "TestSupport",
      ]),
    tests("IO", "Kafka", ["EventLoop", "Kafka", "EmbeddedKafka", "Contract", "TestSupport"]),
    tests("IO", "JSON", ["Bytes", "JSON", "Random"]),
    tests(
      "IO", "Records",
      [
        "Identity", "Bytes", "JSON", "Records", "APNS", "Contract", "Random", "Schedule",
        "TestSupport",
      ]),
    tests("IO", "Compatibility", ["Compatibility", "APNS", "JSON", "Contract", "Records"]),
    tests("IO", "HTTPServer", ["Bytes", "HTTPServer", "HTTPClient", "TestSupport"]),
    tests(
      "IO", "Store",
      ["Identity", "APNS", "Contract", "Bytes", "Schedule", "Store", "TestSupport", "DeviceTokens"]),
    tests("IO", "Signing", ["Bytes", "Signing", "TestSupport"]),
    tests(
      "Services", "ServiceKit",
      [
        "ServiceKit", "Settings", "Telemetry", "Contract", "Diagnosis", "EventLoop", "Kafka",
        "JSON", "HTTPClient", "Bytes", "Random", "TestSupport", "EmbeddedKafka", "ConsumerGroup",
      ]),
    tests(
      "Services", "Ingest",
      [
        "Ingest", "ServiceKit", "Telemetry", "Random", "APNS", "Contract", "Kafka", "JSON",
        "Records", "EventLoop", "TestSupport", "EmbeddedKafka",
      ]),
    tests(
      "Services", "API",
      [
        "Identity", "Access", "API", "APNS", "Diagnosis", "EmbeddedKafka", "Schedule", "ServiceKit",
        "Kafka", "JSON", "Records", "Signing", "Store", "HTTPClient", "TLS", "EventLoop", "Bytes",
        "Contract", "Settings", "Telemetry", "TestSupport", "DeviceTokens",
      ]),
    tests(
      "Services", "Signer",
      [
        "Signer", "ServiceKit", "Telemetry", "APNS", "Diagnosis", "Contract", "Kafka", "JSON",
        "Records", "Signing", "Bytes", "EventLoop", "Settings", "TestSupport", "EmbeddedKafka",
        "SignerDecisions",
      ]),
    tests(
      "Services", "Sender",
      [
        "Sender", "APNS", "Diagnosis", "Faults", "Contract", "Kafka", "JSON", "Records", "TLS",
        "HTTP1", "HTTP2", "HTTP2Server", "Bytes", "EventLoop", "Settings", "TestSupport",
        "GatewaySimulator", "ServiceKit", "EmbeddedKafka", "Signing", "Telemetry",
        "OperatorCommand", "HTTPClient", "Signer", "ConsumerGroup", "SenderDecisions",
        "Credentials",
      ]),
    tests(
      "Services", "Feedback",
      [
        "Identity", "Feedback", "ServiceKit", "Telemetry", "Random", "APNS", "Contract", "Kafka",
        "JSON", "Records", "Store", "EventLoop", "Settings", "TestSupport", "EmbeddedKafka",
        "DeviceTokens",
      ]),
    tests(
      "Services", "Scheduler",
      [
        "Identity", "APNS", "Ingest", "Schedule", "Scheduler", "ServiceKit", "Telemetry",
        "Contract", "Kafka", "Records", "EventLoop", "TestSupport", "Store",
        "DeviceTokens", "JSON", "Bytes", "ConsumerGroup",
      ]),
    tests(
      "Services", "WebhookDelivery",
      [
        "Identity", "WebhookDelivery", "Webhooks", "ServiceKit", "Telemetry", "Contract", "Kafka",
        "JSON", "Bytes", "EventLoop", "Signing", "TestSupport",
      ]),
    tests(
      "Services", "CommandKit",
      [
        "CommandKit", "Bytes", "Contract", "Diagnosis", "EmbeddedKafka", "EventLoop", "Kafka",
        "ServiceKit", "Settings", "TestSupport",
      ]),
    tests(
      "Services", "OperatorCommand",
      [
        "Identity", "CommandKit", "OperatorCommand", "APNS", "Diagnosis", "Signing", "Contract",
        "Kafka", "EventLoop", "GatewaySimulator", "HTTPClient", "ServiceKit", "JSON", "Records",
        "Bytes", "Settings", "TestSupport", "Telemetry", "Store", "DeviceTokens", "Schedule",
        "EmbeddedKafka", "SystemTestSupport", "TokenFiles",
      ]),
    tests("Simulator", "Faults", ["APNS", "Faults", "Random"]),
    tests("Simulator", "GatewayModel", ["APNS", "GatewayModel", "Random"]),
    tests(
      "Simulator", "GatewaySimulator",
      [
        "GatewaySimulator", "APNS", "GatewayModel", "Faults", "Random", "JSON", "TLS", "HTTP2",
        "HTTP2Server", "HTTPClient", "Signing", "Bytes", "EventLoop", "ServiceKit", "Settings",
        "TestSupport", "Waiting",
      ]),
    tests("Lab", "BrokerCore", ["BrokerCore", "Identity"]),
    tests(
      "Lab", "Broker",
      ["Broker", "BrokerCore", "EventLoop", "Kafka", "EmbeddedKafka", "TestSupport"]),
    tests(
      "Lab", "EmbeddedKafka", ["EventLoop", "Kafka", "EmbeddedKafka", "TestSupport"]),
    tests(
      "Lab", "LabCommand",
      [
        "LabCommand", "CommandKit", "OperatorCommand", "EmbeddedKafka", "APNS", "Signing",
        "Contract", "Kafka", "HTTPClient", "HTTPServer", "ServiceKit", "TLS", "JSON", "Records",
        "Bytes", "Settings", "TestSupport", "Telemetry",
      ]),
    tests(
      "Chaos", "Chaos",
      [
        "ChaosSuite", "LabCommand", "APNS", "Contract", "Bytes", "JSON", "Kafka", "Records",
        "SystemTestSupport", "TestSupport", "ConsumerGroup",
      ]),
    tests(
      "System", "System",
      [
        "API", "Bytes", "Diagnosis", "EmbeddedKafka", "EventLoop", "Feedback", "HTTPClient", "JSON",
        "Kafka", "Contract", "LabCommand", "OperatorCommand", "SenderDecisions", "ServiceKit",
        "Signer", "Signing", "SystemTestSupport", "TestSupport",
      ], exclude: ["Python"]),
    tests(
      "System", "ForeignClient",
      [
        "Bytes", "EventLoop", "HTTP2", "JSON", "Kafka", "Random", "Signing", "SystemTestSupport",
        "TestSupport", "HTTP2Engine", "SenderDecisions", "ServiceKit", "WebhookDelivery",
      ],
      exclude: ["Python"]),
    tests(
      "System", "Documents",
      [
        "API", "APNS", "Bytes", "EventLoop", "Feedback", "JSON", "Kafka", "Contract", "Records",
        "ServiceKit", "Signing", "Store", "SystemTestSupport", "TestSupport", "DeviceTokens",
      ], exclude: ["Python"]),
    tests(
      "System", "Deploy",
      [
        "API", "Ingest", "Signer", "Sender", "Feedback", "WebhookDelivery", "Scheduler",
        "GatewaySimulator", "OperatorCommand", "LabCommand", "ServiceKit", "Settings", "Telemetry",
        "Contract", "APNS", "Diagnosis", "Kafka", "EventLoop", "JSON", "Bytes", "TestSupport",
        "SystemTestSupport", "SenderDecisions",
      ], exclude: ["Python"]),
    tests("Tidy", "Tidy", ["JSON"]),
    fuzz,
  ],
  cxxLanguageStandard: .cxx17
)

extension Target {
  /// The targets that it imports.
  var imports: [String] {
    dependencies.compactMap { dependency in
      if case .byNameItem(let name, _) = dependency { name } else { nil }
    }
  }

  /// The folder of Sources that it lies in; nil for one of Tests or benchmarks.
  var flat: Substring? {
    guard let path, path.hasPrefix("Sources/") else { return nil }
    return path.dropFirst("Sources/".count).prefix { $0 != "/" }
  }
}

/// Leaves these targets and what they need.
@MainActor
func keepOnly(_ names: [String]) {
  var kept = Set(names)
  var added = kept
  while !added.isEmpty {
    let needed = package.targets.filter { added.contains($0.name) }.flatMap(\.imports)
    added = Set(needed).subtracting(kept)
    kept.formUnion(added)
  }
  package.targets.removeAll { !kept.contains($0.name) }
}

/// `MARTLET_TEST_ONLY=TLS,Kafka` leaves these test targets, for builds that take long and are about a part
/// (`scripts/sanitize`).
if let only = Context.environment["MARTLET_TEST_ONLY"] {
  keepOnly(only.split(separator: ",").map { "\($0)Tests" })
}

/// `MARTLET_PROGRAMS=martlet-lab,martlet-sender` leaves these programs: `scripts/demo` first builds what it starts.
if let programs = Context.environment["MARTLET_PROGRAMS"] {
  keepOnly(programs.split(separator: ",").map(String.init))
}

/// The law of the flats. Modules of Contract and Platform import neither a flat.
@MainActor
func holdLaw() {
  let flats = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0.flat) })
  for target in package.targets {
    guard let own = target.flat else { continue }
    for name in target.imports {
      let other = flats[name] ?? nil
      guard other == own || other == "Contract" || other == "Platform" else {
        let line =
          "Package.swift: \(target.name) of Sources/\(own) imports \(name) of \(other ?? "no flat")\n"
        write(2, line, line.utf8.count)
        exit(1)
      }
    }
  }
}
holdLaw()
