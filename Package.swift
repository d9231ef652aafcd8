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

/// The commit that `scripts/build` makes a release of; it recompiles two C files.
let commit = Context.environment["MARTLET_COMMIT"].map { [$0] } ?? []

func system(_ name: String, _ pkgConfig: String, _ debian: String...) -> Target {
  .systemLibrary(
    name: name, path: "Sources/Platform/C/\(name)", pkgConfig: pkgConfig,
    providers: [.apt(debian)])
}

/// The first word of a row of the tables below. The name of the target follows, and what it imports.
enum Kind: String {
  /// Decisions and formats as values.
  case values
  /// A module that does something: each type owns one handle on one thread.
  case shell
  /// A shell that is not optimized in the fuzz program.
  case outer
  /// The shell of a process, with what all of them import.
  case service
  /// A program: parse, build, run.
  case program
  /// Files in the program. Instead of imports there are their names: the target has `PackageResources.console_html`.
  case files
  /// `tests Sender` is the target SenderTests.
  case tests
  /// Tests with scripts in their folder Python.
  case scripted
}

/// What other modules use is public: the compiler gets no name of the package for a module, because `@inlinable` does
/// nothing in a type that is `package` (docs/decisions/006).
func target(_ kind: Kind, _ name: String, _ imports: [String], in folder: String) -> Target {
  let dependencies = imports.map { Target.Dependency.byName(name: $0) }
  func module(_ settings: [SwiftSetting], and more: [Target.Dependency] = []) -> Target {
    .target(
      name: name, dependencies: dependencies + more, path: "\(folder)/\(name)",
      packageAccess: false, swiftSettings: settings)
  }
  func tests(exclude: [String] = []) -> Target {
    .testTarget(
      name: "\(name)Tests", dependencies: dependencies,
      path: "\(folder.replacing("Sources/", with: "Tests/"))/\(name)Tests", exclude: exclude,
      swiftSettings: swift)
  }
  return switch kind {
  case .values: module(pure)
  case .shell: module(swift)
  case .outer: module(outer)
  case .service: module(outer, and: ["ServiceKit", "Settings", "Telemetry", "EventLoop"])
  case .program:
    .executableTarget(
      name: name, dependencies: dependencies, path: "\(folder)/\(name)", swiftSettings: outer,
      linkerSettings: hardenedLink)
  case .files:
    .target(
      name: name, path: "\(folder)/\(name)", resources: imports.map { .embedInCode($0) },
      packageAccess: false, swiftSettings: pure)
  case .tests: tests()
  case .scripted: tests(exclude: ["Python"])
  }
}

/// The targets of a table. A line that begins with no kind goes on with the row before.
func targets(in folder: String, _ table: String) -> [Target] {
  var rows: [(kind: Kind, words: [String])] = []
  for line in table.split(separator: "\n") {
    let words = line.split(separator: " ").map(String.init)
    if let kind = Kind(rawValue: words[0]) {
      rows.append((kind, Array(words[1...])))
    } else {
      rows[rows.count - 1].words += words
    }
  }
  return rows.map { target($0.kind, $0.words[0], Array($0.words[1...]), in: folder) }
}

/// The only places where a C header is named. CSimdjson is C++, because simdjson is: it reads requests and payloads in
/// one pass (its include/CSimdjson.h).
let c: [Target] = [
  .target(
    name: "CSimdjson", path: "Sources/Contract/CSimdjson",
    cxxSettings: [.unsafeFlags(["-O2"])] + hardenedCXX,
    linkerSettings: [.linkedLibrary("simdjson")]),
  system("CRdKafka", "rdkafka", "librdkafka-dev"),
  system("CNghttp2", "libnghttp2", "libnghttp2-dev"),
  system("COpenSSL", "openssl", "libssl-dev"),
  system("CDatabases", "libpq", "libpq-dev", "libsqlite3-dev"),
  system("CZlib", "zlib", "zlib1g-dev"),
  system("CCurl", "libcurl", "libcurl4-openssl-dev"),
  .target(
    name: "CLinux", path: "Sources/Platform/C/CLinux",
    cSettings: [.define("_GNU_SOURCE")] + hardenedC
      + commit.map { .define("MARTLET_COMMIT", to: $0) }),
]

/// What every flat imports.
let shared: KeyValuePairs = [
  "Contract": """
    values    Contract
    shell     Records            EventLoop CSimdjson Contract Telemetry
    tests     Contract           Contract Waiting FeedbackDecisions EventLoop Records TestSupport
  """,
  "Platform": """
    values    Waiting
    values    Telemetry
    values    Settings
    values    HTTP               Contract Waiting
    values    ConsumerGroup      Contract
    shell     EventLoop          CLinux Waiting
    shell     Crypto             Settings EventLoop COpenSSL
    shell     HTTP2              EventLoop Crypto HTTP Waiting CNghttp2
    shell     HTTPServer         EventLoop Crypto HTTP Contract CZlib
    shell     HTTPClient         CCurl HTTP
    shell     Kafka              Contract EventLoop Telemetry CRdKafka CLinux
    shell     Store              Contract CDatabases EventLoop
    outer     ServiceKit         Settings Telemetry EventLoop Kafka Records Crypto Contract ConsumerGroup HTTPServer
                                 CLinux
    tests     Store              Contract EventLoop Store TestSupport Waiting
    tests     Platform           Waiting TestSupport ConsumerGroup Contract IngestDecisions Settings Telemetry HTTP
                                 EventLoop Crypto HTTP2 GatewaySimulator HTTPServer HTTPClient
    tests     Kafka              EventLoop Kafka EmbeddedKafka Contract TestSupport ServiceKit Settings Telemetry
                                 Records HTTPClient Waiting ConsumerGroup
  """,
]

/// The flats, in a push's way. None imports another.
let flats: KeyValuePairs = [
  "Ingest": """
    values    IngestDecisions
    service   Ingest             Contract Kafka Records ConsumerGroup IngestDecisions
    program   martlet-ingest     Ingest ServiceKit EventLoop
    tests     Ingest             Ingest ServiceKit Telemetry Waiting Contract Kafka Records EventLoop TestSupport
                                 EmbeddedKafka
  """,
  "Sender": """
    values    SenderDecisions    Waiting ConsumerGroup Contract Telemetry
    service   Sender             Contract Kafka Records Crypto HTTP HTTP2 ConsumerGroup SenderDecisions Waiting
    program   martlet-sender     Sender ServiceKit
    tests     SenderDecisions    Waiting TestSupport ConsumerGroup Contract SenderDecisions SignerDecisions
    tests     Sender             Sender Contract GatewayModel Kafka Records Crypto HTTP HTTP2 GatewaySimulator EventLoop
                                 Settings TestSupport ServiceKit EmbeddedKafka Telemetry OperatorCommand HTTPClient
                                 Signer ConsumerGroup SenderDecisions
  """,
  "Signer": """
    values    SignerDecisions    Contract
    service   Signer             Contract Kafka Records Crypto SignerDecisions ConsumerGroup
    program   martlet-signer     Signer ServiceKit
    tests     Signer             Signer ServiceKit Telemetry Contract Kafka Records Crypto EventLoop Settings
                                 TestSupport EmbeddedKafka SignerDecisions
  """,
  "Feedback": """
    values    FeedbackDecisions
    service   Feedback           Contract FeedbackDecisions Kafka Records Store ConsumerGroup Waiting
    program   martlet-feedback   Feedback ServiceKit EventLoop
    tests     Feedback           Contract Feedback ServiceKit Telemetry Waiting Kafka Records Store EventLoop Settings
                                 TestSupport EmbeddedKafka
  """,
  "API": """
    values    Access             Contract
    service   API                Records Contract Access HTTP Kafka Crypto Store HTTPServer Waiting
    program   martlet-api        API ServiceKit
    tests     API                Contract Access Waiting API Records EmbeddedKafka ServiceKit Kafka Crypto Store
                                 HTTPClient EventLoop Settings Telemetry TestSupport
  """,
  "Webhooks": """
    values    Webhooks           Contract Telemetry ConsumerGroup Waiting
    service   WebhookDelivery    Webhooks Contract Kafka Records Crypto HTTPClient ConsumerGroup
    program   martlet-webhooks   WebhookDelivery ServiceKit
    tests     Webhooks           Contract Webhooks ConsumerGroup WebhookDelivery ServiceKit Telemetry Kafka Records
                                 EventLoop Crypto TestSupport
  """,
  "Schedule": """
    values    ScheduleDecisions  Contract
    service   Scheduler          Contract ScheduleDecisions Kafka Records Store ConsumerGroup Waiting
    program   martlet-scheduler  Scheduler ServiceKit
    tests     Schedule           Contract Waiting ScheduleDecisions Ingest Scheduler ServiceKit Telemetry Kafka Records
                                 EventLoop TestSupport Store ConsumerGroup EmbeddedKafka
  """,
  "Operator": """
    files     ConsoleFiles       console.html console.css console.js
    service   OperatorCommand    Contract Kafka Records HTTPClient HTTPServer Store Crypto ConsoleFiles
    program   martlet            OperatorCommand
    scripted  Operator           Waiting OperatorCommand TestSupport Contract ServiceKit Crypto Kafka EventLoop
                                 GatewaySimulator HTTPClient Records Settings Telemetry Store EmbeddedKafka
  """,
  "Demo": """
    values    BrokerCore         Contract Waiting
    outer     EmbeddedKafka      BrokerCore EventLoop CLinux Contract Kafka
    service   LabCommand         EmbeddedKafka BrokerCore Contract Waiting Kafka Records Crypto Store HTTPClient
                                 HTTPServer
    program   martlet-lab        LabCommand
    tests     Demo               BrokerCore Contract EmbeddedKafka EventLoop Kafka TestSupport LabCommand ServiceKit
                                 OperatorCommand Crypto HTTPClient HTTPServer Records Settings Telemetry
  """,
  "Simulator": """
    values    GatewayModel       Contract Settings Waiting
    service   GatewaySimulator   Crypto HTTP2 HTTP CNghttp2 Contract GatewayModel Waiting Records HTTPServer
    program   apns-simulator     GatewaySimulator ServiceKit
    tests     Simulator          Contract GatewayModel Waiting GatewaySimulator Records Crypto HTTP2 HTTPClient
                                 EventLoop ServiceKit Settings TestSupport
  """,
]

/// The suites that are of no flat, the programs that measure, and their helpers.
let rooms: KeyValuePairs = [
  "Tests/Support": """
    shell     TestSupport        CRdKafka EventLoop Kafka EmbeddedKafka BrokerCore Contract ServiceKit Settings
                                 Telemetry
  """,
  "Tests/Simulation": """
    values    Simulation         Contract ConsumerGroup SenderDecisions Waiting FeedbackDecisions IngestDecisions
                                 ScheduleDecisions SignerDecisions
    program   martlet-simulate   Simulation
    tests     Simulation         Waiting Simulation TestSupport SenderDecisions Contract SignerDecisions
  """,
  "Tests/Chaos": """
    outer     ChaosSuite         Contract Waiting EventLoop Kafka Records Store Settings Telemetry ServiceKit LabCommand
                                 HTTPClient ConsumerGroup Feedback Scheduler SenderDecisions
    program   martlet-chaos      ChaosSuite ServiceKit
  """,
  "Tests/System": """
    scripted  System             API EventLoop Contract EmbeddedKafka Feedback HTTPClient Records Kafka LabCommand
                                 OperatorCommand SenderDecisions ServiceKit Signer Crypto TestSupport HTTP2 Waiting HTTP
                                 WebhookDelivery Store Telemetry ChaosSuite ConsumerGroup
    scripted  Deploy             API Ingest Signer Sender Feedback WebhookDelivery Scheduler GatewaySimulator
                                 OperatorCommand LabCommand ServiceKit Settings Telemetry Contract Kafka EventLoop
                                 Records TestSupport SenderDecisions
  """,
  "Tests/Tidy": """
    tests     Tidy               Records
  """,
  "benchmarks/tools": """
    program   benchmark-tool     EventLoop Crypto HTTP2 CLinux HTTP Contract Waiting Store Kafka Records ServiceKit
                                 Settings
  """,
]

/// What the fuzz targets parse with.
let fuzzed = """
  Contract ConsumerGroup SenderDecisions Waiting GatewayModel Settings Telemetry EventLoop Records API HTTP HTTP2
  HTTPServer Crypto Kafka ServiceKit Ingest Sender Signer Feedback WebhookDelivery Webhooks GatewaySimulator
  OperatorCommand LabCommand EmbeddedKafka BrokerCore Scheduler Store ScheduleDecisions SignerDecisions
  """.split { $0.isWhitespace }.map { Target.Dependency.byName(name: String($0)) }

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

let sharedTargets = c + shared.flatMap { targets(in: "Sources/\($0)", $1) }
let flatTargets = flats.map { targets(in: "Sources/\($0)", $1) }

/// The law.
for own in [[]] + flatTargets {
  let allowed = Set((sharedTargets + own).map(\.name))
  for target in sharedTargets + own where target.type != .test {
    if let name = target.imports.first(where: { !allowed.contains($0) }) {
      let line =
        "Package.swift: \(target.name) imports \(name), which is not of its flat, Contract or Platform\n"
      write(2, line, line.utf8.count)
      exit(1)
    }
  }
}

let package = Package(
  name: "martlet",
  targets: sharedTargets + flatTargets.joined() + rooms.flatMap(targets) + [fuzz],
  cxxLanguageStandard: .cxx17)

extension Target {
  /// The targets that it imports.
  var imports: [String] {
    dependencies.compactMap { dependency in
      if case .byNameItem(let name, _) = dependency { name } else { nil }
    }
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

/// `MARTLET_TEST_ONLY=Platform,Kafka` leaves these test targets, for builds that take long and are about a part
/// (`scripts/sanitize`).
if let only = Context.environment["MARTLET_TEST_ONLY"] {
  keepOnly(only.split(separator: ",").map { "\($0)Tests" })
}

/// `MARTLET_PROGRAMS=martlet-lab,martlet-sender` leaves these programs: `scripts/demo` first builds what it starts.
if let programs = Context.environment["MARTLET_PROGRAMS"] {
  keepOnly(programs.split(separator: ",").map(String.init))
}
